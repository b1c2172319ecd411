import type { FigureName } from "./options.ts";
import type { ControlPlane, Product } from "./product.ts";

/** One measured value; with a goal it is `ok` or `short`. */
export type Result = {
  name: string;
  value: number;
  unit: "ms" | "x" | "%" | "MB" | "kB" | "/s" | "s" | "";
  goal?: Goal;
};
type Goal = { atMost: number } | { atLeast: number };

/** What a figure works with. */
export type Bench = {
  /** The running product that figures share. */
  shared(): Promise<Product>;
  /** One of its own, with empty data folders; it is ended with the bench. */
  fresh(controlPlane?: ControlPlane): Promise<Product>;
  /** Ends this with the bench, last opened first; also what is only just being opened. */
  own<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T>;
  /** The path of the `drover` that is measured. */
  bin: string;
  /** How many simulated agents there are. */
  agents: number;
  /** A folder for CPU profiles, where they are wanted. */
  profile: string | undefined;
  /** An empty folder on the disk that the product writes to. */
  folder(name: string): Promise<string>;
  /** How many times to repeat what a whole run does `count` times; at least `least`. */
  times(count: number, least?: number): number;
  /** A line for people under the table. */
  note(text: string): void;
};

export type Figure = { name: FigureName; take(bench: Bench): Promise<Result[]> };

export const verdict = ({ value, goal }: Result): "ok" | "short" | undefined => {
  if (goal === undefined) return undefined;
  const met = "atMost" in goal ? value <= goal.atMost : value >= goal.atLeast;
  return met ? "ok" : "short";
};
