import { typeid } from "typeid-js";

/** The prefixes of all ids; the part behind it is a UUIDv7 in base 32, so ids sort by creation. */
export type IdKind =
  | "node"
  | "proc"
  | "chat"
  | "turn"
  | "msg"
  | "task"
  | "run"
  | "fan"
  | "pre"
  | "prj"
  | "tok"
  | "sess"
  | "req"
  | "aud"
  | "inst";

/** A new id such as `proc_01k…`, sortable by creation (to the millisecond). */
export const newId = (kind: IdKind): string => typeid(kind).toString();

const shape = /^[a-z]{3,4}_[0-9a-z]{26}$/;

/** Whether a text has the shape of an id of this kind; ids never become paths or queries unchecked. */
export const isId = (kind: IdKind, text: string): boolean => text.startsWith(`${kind}_`) && shape.test(text);
