import { afterAll, beforeAll, beforeEach } from "vitest";
import { startFanoutDriver } from "../../../control-plane/scheduler/fanout-driver.ts";
import type { PlayedNode } from "./played-node.ts";
import { openService, type Answer, type Service } from "./service.ts";

export type Node = { id: string; name: string; played: PlayedNode };

/** The API with what drives fan-outs, for all tests of a block; each test has a group of nodes of its own. */
export class FanoutService {
  /** Names of this test's nodes begin with it. */
  group = 0;
  #service: Service | undefined;
  #driver: { stop(): Promise<void> } | undefined;

  get service(): Service {
    if (this.#service === undefined) throw new Error("it is not open");
    return this.#service;
  }

  async open(): Promise<void> {
    this.#service = await openService();
    this.#driver = startFanoutDriver(this.#service.needs);
  }

  async close(): Promise<void> {
    await this.#driver?.stop();
    await this.#service?.close();
  }

  /** Nodes that only this test's selector matches, by the order of their names. */
  async nodes(count: number): Promise<Node[]> {
    const made: Node[] = [];
    for (let at = 0; at < count; at++) {
      const { id, played } = await this.service.node();
      const name = `g${this.group}-n${at}`;
      await this.service.send("PATCH", `/v1/nodes/${id}`, { name });
      made.push({ id, name, played });
    }
    return made;
  }

  create(body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    const all = { selector: `g${this.group}-*`, process: { command: "x" }, ...body };
    return this.service.post("/v1/fanouts", all, headers);
  }

  async created(body: object = {}, headers: Record<string, string> = {}): Promise<string> {
    const { status, body: made } = await this.create(body, headers);
    if (status !== 201) throw new Error(`answered ${status}: ${JSON.stringify(made)}`);
    return String(made["id"]);
  }
}

export function useFanoutService(): FanoutService {
  const fanouts = new FanoutService();
  beforeAll(() => fanouts.open());
  beforeEach(() => void (fanouts.group += 1));
  afterAll(() => fanouts.close());
  return fanouts;
}
