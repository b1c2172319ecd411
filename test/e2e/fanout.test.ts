import { join } from "node:path";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { FanoutNodeView, FanoutSummary, FanoutView } from "#shared/api/fanout.ts";
import type { ProcessView } from "#shared/api/process.ts";
import { runCli, startCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "n2", "n3", "away"] });
const drover = (...words: string[]) => runCli(words, { env: product.cliEnv, stdin: "ignore" });
const create = (body: object) => product.api.get<FanoutView>("POST /v1/fanouts", { body });
const get = (id: string) => product.api.get<FanoutView>(`GET /v1/fanouts/${id}`);
const final = (id: string) =>
  product.api.get<FanoutView>(`GET /v1/fanouts/${id}`, { query: { waitMs: 30_000 } });
const rows = async (id: string) =>
  (await product.api.get<{ data: FanoutNodeView[] }>(`GET /v1/fanouts/${id}/nodes`)).data;
const lines = (name: string): string[] => {
  const path = join(product.folder, name);
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
};
const latest = async () =>
  (await product.api.get<{ data: FanoutSummary[] }>("GET /v1/fanouts", { query: { limit: 1 } })).data[0];

describe("a fan-out", () => {
  it("has a row for every node it matched, runs on those that are there, and folds what they wrote", async () => {
    await product.agents.get("away")?.stop();
    await product.status("away", "offline");
    const command = 'if [ "$DROVER_NODE" = n3 ]; then echo other >&2; exit 4; fi; echo same';
    const made = await create({ selector: "*", process: { command, cwd: product.folder } });
    expect((await rows(made.id)).map(({ node }) => node)).toEqual(["away", "n1", "n2", "n3"]);
    expect(await final(made.id)).toMatchObject({
      ...{ status: "failed", reason: "node_failures", groupCount: 2 },
      counts: { succeeded: 2, failed: 1, skipped: 1, waiting: 0, running: 0 },
      groups: [
        { count: 2, nodes: ["n1", "n2"], exitCode: 0, text: "same\n" },
        { count: 1, nodes: ["n3"], exitCode: 4, text: "other\n" },
      ],
    });
    const [away, n1] = await rows(made.id);
    expect(away).toMatchObject({
      status: "skipped",
      reason: "node_offline",
      processId: null,
      exitCode: null,
    });
    expect(await product.api.process(n1?.processId ?? "")).toMatchObject({ fanoutId: made.id, exitCode: 0 });
  });

  it("may wait for a node, and runs there once it is back", async () => {
    const { id } = await create({
      ...{ selector: "name=away", ifOffline: "queue" },
      process: { command: "echo ran >>waited", cwd: product.folder },
    });
    expect(await rows(id)).toMatchObject([{ status: "waiting" }]);
    await product.agents.get("away")?.start();
    expect(await final(id)).toMatchObject({ status: "succeeded" });
    expect(lines("waited")).toEqual(["ran"]);
    await product.agents.get("away")?.stop();
    await product.status("away", "offline");
  });

  it("when canceled ends what runs with all it started", async () => {
    const process = { command: "trap 'exit 143' TERM; sleep 600 & wait", graceMs: 2000 };
    const { id } = await create({ selector: "n*", parallel: 2, process });
    await eventually(async () => (await get(id)).counts.running > 0);
    await eventually(async () => {
      const { data } = await product.api.get<{ data: ProcessView[] }>("GET /v1/processes", {
        query: { fanout: id },
      });
      return data.some(({ status }) => status === "running");
    });
    await product.api.get(`POST /v1/fanouts/${id}/cancel`);
    const done = await final(id);
    expect(done.status).toBe("canceled");
    expect(done.counts).toMatchObject({ waiting: 0, running: 0, succeeded: 0 });
  });
});

describe("drover fanout", () => {
  it("names the node before each line, folds at the end, and ends with 0 only when all succeeded", async () => {
    const good = await drover("fanout", "n*", "-c", 'printf "a\\nb"');
    expect(good.code).toBe(0);
    expect(good.stdout.trim().split("\n").toSorted()).toEqual(
      ["n1", "n2", "n3"].flatMap((node) => [`${node} | a`, `${node} | b`]),
    );
    expect(good.stderr).toMatch(
      /^fan_\w+ succeeded: 3 succeeded\n== 3 nodes \(n1, n2, n3\): exited 0\n {3}a\n {3}b\n$/,
    );
    const bad = await drover("fanout", "n*", "--parallel", "1", "-c", 'test "$DROVER_NODE" != n2');
    expect(bad).toMatchObject({ code: 1, stdout: "" });
    expect(bad.stderr).toContain("== 1 node (n2): exited 1");
    const some = await drover("fanout", "*", "--", "true");
    expect(some.code).toBe(1);
    expect(some.stderr).toContain("-- 1 node (away): skipped, node offline");
  });

  it("with -o json prints what became of it, and with --detach only its id", async () => {
    const { code, stdout } = await drover("fanout", "name=n1", "-o", "json", "--", "echo", "hi");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "succeeded",
      groups: [{ text: "hi\n", nodes: ["n1"] }],
    });
    const detached = await drover("fanout", "name=n1", "--detach", "--canary", "1", "--", "true");
    expect(detached.stdout).toMatch(/^fan_\w+\n$/);
    expect(await final(detached.stdout.trim())).toMatchObject({ status: "succeeded", canary: 1 });
  });

  it("lists, shows, pauses, resumes, cancels and retries", async () => {
    const command = "echo $DROVER_NODE >>steered; test -e fixed";
    const made = await drover(
      "fanout",
      "n*",
      "--parallel",
      "1",
      "--max-failures",
      "1",
      "-d",
      "--cwd",
      product.folder,
      "-c",
      command,
    );
    const id = made.stdout.trim();
    await eventually(async () => (await get(id)).status === "paused");
    expect((await drover("fanout", "ls")).stdout).toMatch(
      new RegExp(`${id} +paused max_failures .* n\\* .*1 failed`),
    );
    expect((await drover("fanout", "show", id)).stdout).toContain(
      `${id} paused (max_failures): 2 waiting, 1 failed`,
    );
    await product.api.exec({ node: "n1", cwd: product.folder, command: "touch fixed" });
    expect(await drover("fanout", "resume", id)).toMatchObject({ code: 0 });
    expect(await final(id)).toMatchObject({ status: "failed", counts: { failed: 1, succeeded: 2 } });
    expect(await drover("fanout", "retry", id)).toMatchObject({ code: 0 });
    expect(await final(id)).toMatchObject({ status: "succeeded" });
    expect(lines("steered")).toEqual(["n1", "n2", "n3", "n1"]);
    expect(await drover("fanout", "pause", id)).toMatchObject({ code: 125, stdout: "" });
    expect(await drover("fanout", "cancel", id)).toMatchObject({ code: 0 });
  });

  it("is canceled by Ctrl-C", async () => {
    const running = startCli(["fanout", "n*", "-c", "echo up; exec sleep 600"], {
      env: product.cliEnv,
      stdin: "ignore",
    });
    await running.seen("n3 | up");
    running.child.kill("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/canceled: 3 canceled/);
    expect(await latest()).toMatchObject({ status: "canceled" });
  });

  it("and drover exec -l are one thing", async () => {
    expect(await drover("exec", "-l", "n*", "--", "echo", "hi")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^(n\d \| hi\n){3}$/),
    });
    expect((await drover("exec", "-l", "n*", "--", "false")).code).toBe(1);
    expect((await drover("exec", "-l", "n*", "-n", "n1", "--", "true")).code).toBe(2);
  });

  it.each([
    [["fanout"], 2],
    [["fanout", "n*"], 2],
    [["fanout", "nobody*", "--", "true"], 2],
    [["fanout", "a b", "--", "true"], 2],
    [["fanout", "n*", "--parallel", "many", "--", "true"], 2],
    [["fanout", "n*", "-c", "rm -rf /"], 125],
    [["fanout", "show", "fan_00000000000000000000000000"], 125],
  ])("%j ends with %d", async (words, code) => {
    const ended = await drover(...words);
    expect(ended).toMatchObject({ code, stdout: "" });
    expect(ended.stderr).toMatch(/./);
  });
});
