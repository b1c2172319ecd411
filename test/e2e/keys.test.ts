import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProcessView } from "#shared/api/process.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "n2"] });
const lines = (name: string) => readFileSync(join(product.folder, name), "utf8").trim().split("\n");
const body = (command: string, more: Record<string, unknown> = {}) => ({
  node: "n1",
  cwd: product.folder,
  command,
  ...more,
});
const post = (sent: Record<string, unknown>, headers: Record<string, string> = {}, waitMs?: number) =>
  product.api.api<ProcessView & { code: string }>("POST /v1/processes", {
    body: sent,
    headers,
    ...(waitMs === undefined ? {} : { query: { waitMs } }),
  });

describe("a key", () => {
  it("starts once: the same start attaches, while it runs and after it ended", async () => {
    const sent = body("echo run >>runs-a; exit 3", { key: "a", env: { A: "1" }, stdin: { text: "in" } });
    const all = await Promise.all(Array.from({ length: 12 }, () => post(sent, {}, 30_000)));
    expect(new Set(all.map(({ value }) => value.id)).size).toBe(1);
    expect(all.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(all.filter(({ status }) => status === 200)).toHaveLength(11);
    for (const { status, value } of all)
      expect({ attached: value.attached ?? false, exitCode: value.exitCode }).toEqual({
        attached: status === 200,
        exitCode: 3,
      });
    expect(await post(sent)).toMatchObject({
      status: 200,
      value: { attached: true, status: "exited", exitCode: 3 },
    });
    expect(lines("runs-a")).toEqual(["run"]);
  });

  it("with other input is a conflict, env and stdin included", async () => {
    const sent = body("true", { key: "b", env: { A: "1" }, stdin: { text: "in" } });
    expect((await post(sent)).status).toBe(201);
    for (const change of [
      { command: "false" },
      { env: { A: "2" } },
      { env: {} },
      { stdin: { text: "other" } },
      { timeoutMs: 1000 },
      { output: "split" },
    ])
      expect(await post({ ...sent, ...change })).toMatchObject({
        status: 409,
        value: { code: "idempotency_mismatch" },
      });
  });

  it("belongs to its node", async () => {
    const one = await post(body("true", { key: "c" }));
    const other = await post(body("true", { key: "c", node: "n2" }));
    expect([one.status, other.status]).toEqual([201, 201]);
    expect(other.value.id).not.toBe(one.value.id);
  });

  it("that is canceled before its start fences it for good", async () => {
    expect(await product.api.get("POST /v1/processes/cancel", { body: { node: "n1", key: "d" } })).toEqual({
      fenced: true,
      process: null,
    });
    for (let n = 0; n < 2; n++)
      expect(await post(body("echo run >>runs-d", { key: "d" }))).toMatchObject({
        status: 409,
        value: { code: "start_canceled" },
      });
    expect(existsSync(join(product.folder, "runs-d"))).toBe(false);
  });

  it("that is canceled while it runs stops what it started", async () => {
    const { id } = await product.api.start(body("echo up; sleep 600 & sleep 600", { key: "e" }));
    await product.api.printed(id, "up");
    const canceled = await product.api.get<{ fenced: boolean; process: ProcessView }>(
      "POST /v1/processes/cancel",
      { body: { node: "n1", key: "e" } },
    );
    expect(canceled).toMatchObject({
      fenced: false,
      process: { id, status: "killed", reason: "stopped", survivors: [] },
    });
    expect(await post(body("echo up; sleep 600 & sleep 600", { key: "e" }))).toMatchObject({
      status: 200,
      value: { id, attached: true, status: "killed" },
    });
  });

  it("races its own cancel to one of two ends: started and stopped, or never run", async () => {
    for (let round = 0; round < 10; round++) {
      const key = `race-${round}`;
      const [started, canceled] = await Promise.all([
        post(body(`echo run >>runs-${key}; sleep 600`, { key })),
        product.api.get<{ fenced: boolean; process: ProcessView | null }>("POST /v1/processes/cancel", {
          body: { node: "n1", key },
        }),
      ]);
      if (canceled.fenced) expect(started).toMatchObject({ status: 409, value: { code: "start_canceled" } });
      else {
        expect(started.status).toBe(201);
        const ended = await product.api.final(started.value.id);
        expect(ended.status).toMatch(/^(canceled|killed)$/);
        if (ended.status === "canceled") expect(existsSync(join(product.folder, `runs-${key}`))).toBe(false);
      }
    }
  });
});

describe("an Idempotency-Key", () => {
  it("gives the same process again, and says so", async () => {
    const sent = body("echo run >>runs-i; exit 4");
    const first = await post(sent, { "idempotency-key": "i" }, 30_000);
    expect(first).toMatchObject({ status: 201, value: { exitCode: 4 } });
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    const again = await post(sent, { "idempotency-key": "i" }, 30_000);
    expect(again).toMatchObject({
      status: 201,
      value: { id: first.value.id, exitCode: 4, result: { text: "" } },
    });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(lines("runs-i")).toEqual(["run"]);
  });

  it("with another body is a conflict", async () => {
    expect((await post(body("true"), { "idempotency-key": "j" })).status).toBe(201);
    expect(await post(body("false"), { "idempotency-key": "j" })).toMatchObject({
      status: 409,
      value: { code: "idempotency_mismatch" },
    });
  });

  it("used by many at once starts one", async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, () => post(body("echo run >>runs-k"), { "idempotency-key": "k" }, 30_000)),
    );
    expect(new Set(all.map(({ value }) => value.id)).size).toBe(1);
    expect(all.filter(({ headers }) => headers.get("idempotent-replayed") === null)).toHaveLength(1);
    expect(lines("runs-k")).toEqual(["run"]);
  });

  it("of a start that was refused is free again", async () => {
    expect((await post(body("rm -rf /"), { "idempotency-key": "l" })).status).toBe(422);
    expect((await post(body("true"), { "idempotency-key": "l" })).status).toBe(201);
  });

  it("never shows a join token twice", async () => {
    const make = () =>
      product.api.api<{ token?: string; secretShown?: boolean; command: string }>("POST /v1/join-tokens", {
        body: {},
        headers: { "idempotency-key": "m" },
      });
    const first = await make();
    expect(first.value.token).toMatch(/^\S{20,}$/);
    const again = await make();
    expect(again.value).toMatchObject({ secretShown: false });
    expect(JSON.stringify(again.value)).not.toContain(first.value.token);
  });
});
