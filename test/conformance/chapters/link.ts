import { describe, expect, it } from "vitest";
import { closeCodes, maxFrameBytes } from "#shared/link/limits.ts";
import { FarEnd } from "../../control-plane/link/far-end.ts";
import type { Product } from "../../support/product.ts";
import type { Runtime } from "../runtimes/runtime.ts";
import { enrolled, farEnd, playedNode, upgrade } from "../wire.ts";

/** The socket of an agent, from its own end. */
export const link = (product: Product, runtime: Runtime): void => {
  /** What the code is with which the control plane ends a socket that says this. */
  const endOf = async (name: string, say: (agent: FarEnd) => void) => {
    const { agent } = await farEnd(product, name);
    say(agent);
    return agent.closed;
  };
  const padded = (bytes: number): string => {
    const ping = JSON.stringify({ type: "ping" });
    return ping + " ".repeat(bytes - ping.length);
  };

  describe("the agents' socket", () => {
    it("is opened with the key of a node and refused without, before it is one", async () => {
      const { nodeId, key } = await enrolled(product, "keyed");
      expect(await upgrade(product, "/v1/agent", `Bearer ${nodeId}.${key}`)).toBe(101);
      const wrong = [
        `Bearer ${nodeId}.${key}x`,
        `Bearer ${nodeId}.`,
        `Bearer node_01h0000000000000000000000x.${key}`,
        `Bearer ${product.token}`,
        `Basic ${nodeId}.${key}`,
        undefined,
      ];
      for (const each of wrong)
        expect({ each, status: await upgrade(product, "/v1/agent", each) }).toEqual({ each, status: 401 });
    });

    it("is nowhere else", async () => {
      for (const path of ["/v1/agents", "/v1/processes", "/healthz", ...(runtime.showsPage ? [] : ["/"])])
        expect({ path, status: await upgrade(product, path, `Bearer ${product.token}`) }).toEqual({
          path,
          status: 404,
        });
    });

    it("welcomes an agent that says hello, hears what it says, and lets it go", async () => {
      const { nodeId, name, agent } = await farEnd(product, "greeted");
      expect(agent.all("welcome")).toMatchObject([
        { nodeId, nodeName: name, keyHash: expect.stringMatching(/^\w{64}$/) },
      ]);
      await product.status(name, "online");
      const load = { cpu: 0.5, memUsedBytes: 1, diskFreeBytes: 2 };
      agent.say({ type: "load", load, wallAt: Date.now() });
      agent.say({ type: "ping" });
      agent.say({ type: "goodbye" });
      expect(await agent.closed).toMatchObject({ code: 1000 });
      await product.status(name, "offline");
    });

    it("carries frames in their order, both ways", async () => {
      const { played } = await playedNode(product, "ordered");
      played.onStart = ({ id }) => {
        played.report({ id, status: "running" });
        for (const part of ["one ", "two ", "three"]) played.write(id, part);
        played.exit(id, { exitCode: 5 });
      };
      const ids = [];
      for (let n = 0; n < 10; n++)
        ids.push((await product.api.start({ node: "ordered", command: `played ${n}` })).id);
      const done = await Promise.all(ids.map((id) => product.api.final(id)));
      expect(played.launches.map(({ id }) => id)).toEqual(ids);
      expect(done.every(({ status, exitCode }) => status === "exited" && exitCode === 5)).toBe(true);
      expect((await product.api.output(ids[0] ?? "")).text).toBe("one two three");
    });

    it("takes a frame of 8 MiB, and closes with 1009 on one that is larger, and no other socket", async () => {
      const { connectedAt } = await product.node("n1");
      const fits = await endOf("fits", (agent) => {
        agent.sayText(padded(maxFrameBytes));
        agent.say({ type: "goodbye" });
      });
      expect(fits).toMatchObject({ code: 1000 });
      const large = await endOf("large", (agent) => agent.sayText(padded(maxFrameBytes + 1)));
      expect(large).toMatchObject({ code: 1009 });
      expect(await product.node("n1")).toMatchObject({ status: "online", connectedAt });
    });

    it.each<[string, number, (agent: FarEnd) => void]>([
      ["binary", 1008, (agent) => agent.sayBinary()],
      ["no JSON", 1008, (agent) => agent.sayText("nonsense")],
      ["of no known type", 1008, (agent) => agent.sayText('{"type":"colour"}')],
      ["of the wrong shape", 1008, (agent) => agent.sayText('{"type":"reports","reports":[{}]}')],
      ["a second hello", 1008, (agent) => agent.hello()],
      ["of another protocol", closeCodes.versionMismatch, (agent) => agent.hello({ protocol: 99 })],
    ])("closes on a frame that is %s with %d", async (title, code, say) => {
      expect(await endOf(`wrong-${title.replaceAll(" ", "-")}`, say)).toMatchObject({ code });
    });

    it("belongs to the newest one of an agent, and to the first of two agents while that answers", async () => {
      const { nodeId, link: wire, agent } = await farEnd(product, "twice");
      const young = new FarEnd(wire, nodeId);
      young.hello({ instanceId: agent.instanceId, echoes: true });
      await young.next("welcome");
      await agent.closed;
      const copy = new FarEnd(wire, nodeId);
      copy.hello();
      const { nonce } = await young.next("probe");
      young.say({ type: "ping", nonce });
      expect(await copy.closed).toMatchObject({ code: closeCodes.duplicateAgent });
      expect((await product.node("twice")).status).toBe("online");
      young.say({ type: "goodbye" });
      expect(await young.closed).toMatchObject({ code: 1000 });
    });

    it("of a node that is deleted is closed with 4403, and its key opens none any more", async () => {
      const { nodeId, key, agent } = await farEnd(product, "deleted");
      await product.status("deleted", "online");
      expect((await product.api.api("DELETE /v1/nodes/deleted")).status).toBe(204);
      expect(await agent.closed).toMatchObject({ code: closeCodes.revoked });
      expect(await upgrade(product, "/v1/agent", `Bearer ${nodeId}.${key}`)).toBe(401);
      expect((await product.api.api("GET /v1/nodes/deleted")).status).toBe(404);
    });

    it("that breaks makes its node unreachable, and no start is sent there", async () => {
      const { agent } = await farEnd(product, "broken");
      await product.status("broken", "online");
      agent.cut();
      await product.status("broken", "unreachable");
      const body = { node: "broken", command: "true" };
      expect(await product.api.api("POST /v1/processes", { body })).toMatchObject({
        status: 503,
        value: { code: "node_offline" },
      });
    });
  });
};
