import { afterEach, beforeEach } from "vitest";
import { Link, type LinkNeeds } from "../../../node-agent/link/client.ts";
import type { SelfOnLink } from "../../../node-agent/link/self-on-link.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";
import { FakeEngine } from "./fake-engine.ts";

export const greeting = { version: "1", instanceId: "i1", machineId: "m1", bootId: "b1", facts: { cpus: 2 } };
export const load = { cpu: 0.5, memUsedBytes: 1, diskFreeBytes: 2 };
export const key = "k".repeat(43);

/** A played control plane, played processes and the real link between them; new for every test of the file. */
export class Linked {
  plane = new FakeControlPlane();
  engine = new FakeEngine();
  logged: string[] = [];
  keys = [key];
  readonly welcomes: { nodeName: string; keyHash?: string | undefined }[] = [];
  link: Link | undefined;

  self(url: string): SelfOnLink {
    return {
      nodeId: "node_1",
      url,
      keys: this.keys,
      welcomed: (welcome) => void this.welcomes.push(welcome),
      rotateKey: (inForce) => ({ value: { keyHash: inForce } }),
    };
  }

  open(more: Partial<LinkNeeds> = {}): Link {
    const note = (event: string) => void this.logged.push(event);
    this.link = new Link({
      self: this.self(this.plane.url),
      engine: this.engine,
      greeting,
      load: () => Promise.resolve(load),
      log: { info: note, warn: note, error: note },
      random: () => 0,
      ...more,
    });
    return this.link;
  }
}

export function linkedForEachTest(): Linked {
  const linked = new Linked();
  beforeEach(async () => {
    Object.assign(linked, new Linked());
    await linked.plane.listen();
  });
  afterEach(async () => {
    await linked.link?.close();
    await linked.plane.close();
  });
  return linked;
}
