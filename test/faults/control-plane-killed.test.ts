import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ProcessView } from "#shared/api/process.ts";
import { createClient } from "../../sdk/client.ts";
import { followProcess, type ProcessEvent } from "../../sdk/events.ts";
import { eventually } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1"] });
const restart = async () => {
  await product.killControlPlane();
  await product.startControlPlane();
};
const path = (name: string) => join(product.folder, name);
const give = (name: string) => writeFileSync(path(name), "");
const lines = (name: string) =>
  existsSync(path(name)) ? readFileSync(path(name), "utf8").trim().split("\n") : [];
const untilGiven = (name: string) => `while [ ! -e ${name} ]; do sleep 0.05; done`;
const start = (command: string, more: Record<string, unknown> = {}) =>
  product.api.start({ node: "n1", cwd: product.folder, command, ...more });

async function follow(id: string, heard: ProcessEvent[]): Promise<void> {
  const client = createClient({ url: product.api.url, token: product.token });
  for await (const event of followProcess(client, id)) heard.push(event);
}

describe("kill -9 of the control plane", () => {
  it("loses no ending and no byte of a command that ends while it is away", async () => {
    const { id } = await start(`echo begin; ${untilGiven("go1")}; seq 1 20000; echo ended >ended1; exit 5`);
    await product.api.printed(id, "begin");
    await product.killControlPlane();
    give("go1");
    await eventually(() => existsSync(path("ended1")));
    await product.startControlPlane();
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 5 });
    const expected = `begin\n${Array.from({ length: 20_000 }, (_, n) => `${n + 1}\n`).join("")}`;
    expect((await product.api.raw(id)).toString()).toBe(expected);
    expect(await product.api.process(id)).toMatchObject({
      stale: false,
      output: { totalBytes: expected.length },
    });
  });

  it("is an interruption for a reader who follows: it goes on where it was", async () => {
    const { id } = await start(
      `seq 1 500; ${untilGiven("go2")}; seq 501 1000; ${untilGiven("go3")}; seq 1001 1500; exit 3`,
    );
    const heard: ProcessEvent[] = [];
    const reader = follow(id, heard);
    const hasPrinted = (text: string) => eventually(() => textOf(heard).includes(text), 60_000);
    await hasPrinted("\n500\n");
    await restart();
    give("go2");
    await hasPrinted("\n1000\n");
    await product.killControlPlane();
    give("go3");
    await product.startControlPlane();
    await reader;
    expect(textOf(heard)).toBe(Array.from({ length: 1500 }, (_, n) => `${n + 1}\n`).join(""));
    expect(heard.filter((event) => event.type === "exit")).toMatchObject([{ status: "exited", exitCode: 3 }]);
    expect(heard.at(-1)?.type).toBe("end");
  });

  it("leaves what was asked before it: a stop is carried out, a key is known", async () => {
    const { id } = await start("trap '' TERM; echo begin; sleep 600 & wait; sleep 600", {
      key: "k1",
      graceMs: 60_000,
    });
    await product.api.printed(id, "begin");
    await eventually(async () => (await product.api.process(id)).status === "running");
    // Nobody waits for the answer: the wish is stored before the node hears of it.
    const asked = product.api
      .api(`POST /v1/processes/${id}/stop`, { body: { graceMs: 0 } })
      .catch(() => undefined);
    await eventually(async () => (await product.api.process(id)).status !== "running");
    await restart();
    await asked;
    expect(await product.api.final(id)).toMatchObject({
      status: "killed",
      reason: "stopped",
      signal: "KILL",
    });
    expect(
      await start("trap '' TERM; echo begin; sleep 600 & wait; sleep 600", { key: "k1", graceMs: 60_000 }),
    ).toMatchObject({ id, attached: true });
  });

  it("in the midst of starts runs none twice that its caller repeats, with a key or an Idempotency-Key", async () => {
    // A caller whose request broke asks again until it is answered.
    const started = async (n: number): Promise<ProcessView> => {
      const body = {
        node: "n1",
        cwd: product.folder,
        command: `echo ${n} >>runs; exit ${n}`,
        ifOffline: "queue",
      };
      const repeatable =
        n % 2 === 0
          ? { body: { ...body, key: `once-${n}` } }
          : { body, headers: { "idempotency-key": `once-${n}` } };
      for (;;) {
        const answer = await product.api
          .api<ProcessView>("POST /v1/processes", repeatable)
          .catch(() => undefined);
        if (answer !== undefined && answer.status < 300) return answer.value;
        if (answer !== undefined && answer.status !== 503)
          throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.value)}`);
        await eventually(
          () =>
            product.api.api("GET /healthz").then(
              () => true,
              () => false,
            ),
          60_000,
        );
      }
    };
    const starts = Array.from({ length: 30 }, (_, n) => started(n));
    await Promise.race(starts);
    await restart();
    const all = await Promise.all(starts);
    const done = await Promise.all(all.map(({ id }) => product.api.final(id)));
    expect(done.map(({ status, exitCode }) => [status, exitCode])).toEqual(all.map((_, n) => ["exited", n]));
    expect(
      lines("runs")
        .map(Number)
        .toSorted((a, b) => a - b),
    ).toEqual(all.map((_, n) => n));
  });

  it("keeps what waits for an offline node, environment included", async () => {
    const agent = product.agents.get("n1");
    await agent?.stop();
    await product.status("n1", "offline");
    const { id } = await start('cat; echo "$SECRET"', {
      ifOffline: "queue",
      env: { SECRET: "sesame" },
      stdin: { text: "open " },
    });
    await restart();
    expect(await product.api.process(id)).toMatchObject({ status: "queued" });
    await agent?.start();
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 0 });
    expect((await product.api.output(id)).text).toBe("open sesame\n");
  });
});

/** The bytes of the events, each of which must begin where the one before ended. */
function textOf(heard: ProcessEvent[]): string {
  let at = 0;
  return heard
    .map((event) => {
      if (event.type !== "output") return "";
      if (event.from !== at) throw new Error(`output goes on at ${event.from} instead of ${at}`);
      at = event.to;
      return event.text ?? "";
    })
    .join("");
}
