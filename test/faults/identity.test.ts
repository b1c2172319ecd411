import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { Daemon } from "../support/daemon.ts";
import { eventually } from "../support/eventually.ts";
import { type Agent, useProduct } from "../support/product.ts";

const product = useProduct();

/** An agent on a data folder of its own choice, as a person would start it. */
const agentOn = (dataDir: string, ...flags: string[]): Daemon =>
  new Daemon(["agent", "--url", product.api.url, "--data-dir", dataDir, ...flags], { env: product.env });

const joinToken = async (body: object): Promise<string> =>
  (await product.api.get<{ token: string }>("POST /v1/join-tokens", { body })).token;

/** A process that runs until it is told to end, with 7. */
async function untilTold(node: string): Promise<{ id: string; pid: number; tell: () => void }> {
  const file = join(product.folder, `told ${node}`);
  const command = `echo up; until [ -e '${file}' ]; do sleep 0.1; done; exit 7`;
  const { id } = await product.api.start({ node, command });
  await product.api.printed(id, "up");
  await eventually(async () => (await product.api.process(id)).pid !== null);
  return { id, pid: (await product.api.process(id)).pid ?? 0, tell: () => writeFileSync(file, "") };
}

async function goAway(agent: Agent): Promise<void> {
  await agent.stop();
  await product.status(agent.name, "offline");
}

describe("a copy of a data folder", () => {
  it("takes the node of an agent that is away, but says nothing of what runs there; the true ending comes with the first agent", async () => {
    const first = await product.agent("copied");
    const process = await untilTold("copied");
    await goAway(first);
    const copied = join(product.folder, "copied copy");
    cpSync(first.dataDir, copied, { recursive: true, verbatimSymlinks: true });
    const copy = agentOn(copied);
    await copy.seen("link.connected");
    expect(copy.log).toContain("identity.copied");
    expect(await product.api.final(process.id)).toMatchObject({
      status: "lost",
      reason: "agent_state_lost",
      exitCode: null,
    });
    expect(existsSync(`/proc/${process.pid}`)).toBe(true);
    // The first one is back while the copy has its node: it leaves, and leaves its process as it is.
    const refused = agentOn(first.dataDir);
    expect(await refused.ended).toEqual({ code: 2, signal: null });
    expect(refused.log).toMatch(
      /^drover agent: another agent is connected as this node.*stop the other agent/m,
    );
    expect(existsSync(`/proc/${process.pid}`)).toBe(true);
    expect(await product.api.exec({ node: "copied", command: "exit 4" })).toMatchObject({ exitCode: 4 });

    await copy.end("SIGTERM");
    await product.status("copied", "offline");
    await first.start();
    process.tell();
    await eventually(async () => (await product.api.process(process.id)).status === "exited");
    expect(await product.api.process(process.id)).toMatchObject({ exitCode: 7, reason: null });
  });
});

describe("a machine that was installed anew", () => {
  it("takes its old place with a join token that says replace, once the old agent is away", async () => {
    const old = await product.agent("renewed");
    const { id } = await product.node("renewed");
    await product.api.get("PATCH /v1/nodes/renewed", { body: { labels: { kept: "yes" } } });
    const process = await untilTold("renewed");
    const token = await joinToken({ nodeName: "renewed", replace: true });
    const fresh = [join(product.folder, "renewed anew"), "--name", "renewed", "--token", token] as const;

    const early = agentOn(...fresh);
    expect(await early.ended).toEqual({ code: 2, signal: null });
    expect(early.log).toMatch(/^drover agent: the name renewed was refused: .* is online: stop its agent/m);
    expect(await product.node("renewed")).toMatchObject({ id, status: "online", running: 1 });

    await goAway(old);
    const young = agentOn(...fresh);
    await young.seen("link.connected");
    expect(await product.node("renewed")).toMatchObject({ id, labels: { kept: "yes" }, running: 0 });
    expect(await product.api.process(process.id)).toMatchObject({
      status: "lost",
      reason: "agent_state_lost",
    });
    // The old agent is nobody any more. It says so and goes on asking; what it started lives on.
    const nobody = agentOn(old.dataDir);
    await nobody.seen("another agent was enrolled in its place");
    expect(await nobody.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(existsSync(`/proc/${process.pid}`)).toBe(true);
    process.tell();
    await young.end("SIGTERM");
  });

  it("is told what is wrong with a join token that does not let it in", async () => {
    const token = await joinToken({ nodeName: "wiped" });
    const dataDir = join(product.folder, "wiped");
    const words = [dataDir, "--name", "wiped", "--token"] as const;
    const first = agentOn(...words, token);
    await first.seen("link.connected");
    await first.end("SIGTERM");
    rmSync(dataDir, { recursive: true });

    const again = agentOn(...words, token);
    expect(await again.ended).toEqual({ code: 2, signal: null });
    expect(again.log).toMatch(/^drover agent: the join token was refused: .*used up/m);
    const fresh = agentOn(...words, await joinToken({ nodeName: "wiped" }));
    expect(await fresh.ended).toEqual({ code: 2, signal: null });
    expect(fresh.log).toMatch(/^drover agent: the name wiped was refused: .*made with replace/m);
    const none = agentOn(dataDir, "--name", "wiped");
    expect(await none.ended).toEqual({ code: 2, signal: null });
    expect(none.log).toMatch(/^drover agent: this node has not enrolled yet: give a join token/m);
  });
});

describe("a node that was deleted while its agent was away", () => {
  it("lets the agent say so and go on asking, slowly, and its processes live on", async () => {
    const gone = await product.agent("gone");
    const process = await untilTold("gone");
    await goAway(gone);
    expect((await product.api.api("DELETE /v1/nodes/gone")).status).toBe(204);
    expect(await product.api.process(process.id)).toMatchObject({ status: "lost", reason: "node_deleted" });
    const back = agentOn(gone.dataDir);
    await back.seen("remove identity.json");
    expect(Number(/"retryInMs":(\d+)/.exec(back.log)?.[1])).toBeGreaterThanOrEqual(15_000);
    expect(existsSync(`/proc/${process.pid}`)).toBe(true);
    expect(await back.end("SIGTERM")).toEqual({ code: 0, signal: null });
    process.tell();
  });
});

describe("a machine that was booted anew", () => {
  it("has lost what ran and starts what waited, also when the control plane was away meanwhile", async () => {
    const agent = await product.agent("booted");
    const process = await untilTold("booted");
    await goAway(agent);
    const waiting = await product.api.start({
      node: "booted",
      command: "exit 5",
      ifOffline: "queue",
    });
    await product.killControlPlane();
    process.tell();
    await eventually(() => !existsSync(`/proc/${process.pid}`));
    anotherBoot(join(agent.dataDir, "procs", process.id, "run"));
    await product.startControlPlane();
    await agent.start();
    expect(await product.api.final(process.id)).toMatchObject({
      status: "lost",
      reason: "node_rebooted",
      exitCode: null,
      stale: false,
    });
    expect(await product.api.final(waiting.id)).toMatchObject({ status: "exited", exitCode: 5 });
  });

  /** The record as a machine that went down with everything leaves it: of another boot, and without an ending. */
  function anotherBoot(file: string): void {
    const record = readFileSync(file, "latin1");
    const bootId = /"bootId":"([^"]+)"/.exec(record)?.[1] ?? "";
    const cut = record.replace(/^\S+ exit \d+ .* end$/m, (line) => " ".repeat(line.length));
    writeFileSync(file, cut.replace(bootId, bootId.replace(/./g, "0")), "latin1");
  }
});

describe("a database that was set back", () => {
  it("learns again how something ended that it has running, also long after its agent had that stored", async () => {
    const agent = await product.agent("restored");
    const { id } = await product.api.exec({ node: "restored", command: "exit 3" });
    await goAway(agent);
    const sql = postgres(product.databaseUrl, { max: 1 });
    await sql`
      update processes set status = 'running', exit_code = null, concluded_at = null, exited_at = null, revision = 1
      where id = ${id}`;
    await sql.end();
    expect(await product.api.process(id)).toMatchObject({ status: "running", stale: true });
    await agent.start();
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 3, reason: null });
  });
});
