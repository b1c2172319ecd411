import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Daemon } from "../support/daemon.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1"] });

describe("a second agent", () => {
  it("on the data folder of another that runs is refused with 2 and told who has it", async () => {
    const first = product.agents.get("n1");
    const second = new Daemon(first?.words ?? [], { env: product.env });
    expect(await second.ended).toEqual({ code: 2, signal: null });
    expect(second.log).toContain(`is used by another agent (pid ${first?.daemon?.pid})`);
    expect(await product.api.exec({ node: "n1", command: "exit 3" })).toMatchObject({ exitCode: 3 });
  });

  it("on a copy of that data folder is refused with 2 and told why, and the first one goes on undisturbed", async () => {
    const first = product.agents.get("n1");
    const { id } = await product.api.start({ node: "n1", command: "echo up; sleep 600" });
    await product.api.printed(id, "up");
    const { connectedAt } = await product.node("n1");
    const copy = join(product.folder, "copy");
    cpSync(first?.dataDir ?? "", copy, { recursive: true });
    const second = new Daemon(["agent", "--url", product.api.url, "--data-dir", copy], { env: product.env });
    expect(await second.ended).toEqual({ code: 2, signal: null });
    expect(second.log).toMatch(/another agent/);
    expect(await product.node("n1")).toMatchObject({ status: "online", connectedAt });
    expect(await product.api.process(id)).toMatchObject({ status: "running", stale: false });
    expect(await product.api.stop(id, 5000)).toMatchObject({ status: "killed", reason: "stopped" });
  });

  it("takes the node over when the first one is gone", async () => {
    const first = product.agents.get("n1");
    await first?.kill();
    await first?.start();
    expect(await product.api.exec({ node: "n1", command: "exit 4" })).toMatchObject({ exitCode: 4 });
  });

  it("of a node that was deleted is refused with 2 and told so", async () => {
    await product.agent("doomed");
    expect((await product.api.api("DELETE /v1/nodes/doomed")).status).toBe(204);
    const doomed = product.agents.get("doomed")?.daemon;
    expect((await doomed?.ended)?.code).toBe(2);
    expect(doomed?.log).toMatch(/^drover agent: .+$/m);
  });
});
