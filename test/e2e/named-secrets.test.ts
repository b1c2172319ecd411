import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import type { ExecView } from "../support/api.ts";
import { bytesOf, hear } from "../support/event-stream.ts";
import { everything } from "../support/every-row.ts";
import { pidsWith } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "n2"] });
const value = "correct-horse/battery+staple";
const stars = "*".repeat(value.length);
const env = { TOKEN: { secret: "token" } };
/** The value, a part of it long enough to be one, and how it looks in base64, hex and JSON's escapes. */
const forms = [
  value,
  value.slice(6, 20),
  Buffer.from(value).toString("base64").slice(0, 24),
  Buffer.from(value).toString("hex"),
];
const holdsNone = (text: string): void => {
  for (const form of forms) expect(text).not.toContain(form);
};

beforeAll(() => product.api.get("POST /v1/secrets", { body: { name: "token", value } }));

describe("the value of a named secret that a command writes", () => {
  const command = `echo "a $TOKEN b"; for i in $(seq 1 3000); do echo "line $i $TOKEN"; done; printf %s "$TOKEN" | base64; echo "c $TOKEN" >&2`;
  let done: ExecView;
  beforeAll(async () => void (done = await product.api.exec({ node: "n1", command, env })));

  it("shows as stars in what exec answers, with every count as it was written", async () => {
    expect(done.result.text.startsWith(`a ${stars} b\nline 1 ${stars}\n`)).toBe(true);
    expect(done.result.text.endsWith(`c ${stars}\n`)).toBe(true);
    holdsNone(JSON.stringify(done));
    const whole = await product.api.raw(done.id);
    expect(whole.length).toBe(done.output.totalBytes);
    expect(whole.toString().match(/^line \d+ \*{28}$/gm)).toHaveLength(3000);
  });

  it("shows as stars in every view, wherever it is cut", async () => {
    for (const view of ["headtail", "head", "tail"] as const)
      holdsNone(JSON.stringify(await product.api.output(done.id, { view, headBytes: 20, tailBytes: 41 })));
    for (let from = 0; from < 34; from++) {
      const { text } = await product.api.output(done.id, { view: "range", from, to: from + 7 });
      expect(text).toBe(`a ${stars} b\nline 1 *`.slice(from, from + 7));
    }
    for (const format of ["text", "raw"])
      holdsNone((await product.api.raw(done.id, { view: "head", format })).toString());
  });

  it("is found by no search, is a match of no wait, and is not in its context", async () => {
    for (const query of [
      { grep: "horse", regex: false },
      { grep: "c.rrect", regex: true },
    ]) {
      const { matches } = await product.api.output<{ matches: unknown[] }>(done.id, query);
      expect(matches).toEqual([]);
    }
    const found = await product.api.output(done.id, { grep: "line 7 ", context: 2 });
    holdsNone(JSON.stringify(found));
    const body = { for: ["pattern"], pattern: "battery", waitMs: 100 };
    expect(await product.api.get(`POST /v1/processes/${done.id}/wait`, { body })).toMatchObject({
      met: null,
    });
  });

  it("shows as stars to followers, from the start and from its midst", async () => {
    const [all, late] = await Promise.all([
      hear(product.api, done.id),
      hear(product.api, done.id, { from: 9 }),
    ]);
    expect(bytesOf(all).equals(await product.api.raw(done.id))).toBe(true);
    expect(
      bytesOf(late, { from: 9 })
        .toString()
        .startsWith(`${stars.slice(7)} b\n`),
    ).toBe(true);
  });

  it("shows as stars in the groups and the stream of a fan-out", async () => {
    const process = { command: 'echo "f $TOKEN"', env };
    const { id } = await product.api.get<{ id: string }>("POST /v1/fanouts", {
      body: { selector: "*", process },
    });
    const stream = await (await product.api.fetch(`GET /v1/fanouts/${id}/events`)).text();
    holdsNone(stream);
    expect(stream).toContain(stars);
    expect(await product.api.get(`GET /v1/fanouts/${id}`)).toMatchObject({
      status: "succeeded",
      groups: [{ count: 2, text: `f ${stars}\n` }],
    });
  });

  it("shows as stars when the node is away, and after its agent came again", async () => {
    const agent = product.agents.get("n1");
    await agent?.kill();
    await product.status("n1", "unreachable");
    const { text } = await product.api.output(done.id, { view: "headtail" });
    expect(text).toContain(stars);
    holdsNone(text);
    await agent?.start();
    await product.status("n1", "online");
    holdsNone((await product.api.raw(done.id)).toString());
  });
});

describe("a named secret", () => {
  it("is in the environment of the command, and in no argument and no other file than its own", async () => {
    const { id } = await product.api.start({ node: "n1", command: "echo up; sleep 600", env });
    await product.api.printed(id, "up");
    const pids = pidsWith(id);
    expect(pids.length).toBeGreaterThan(1);
    const own = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, "latin1");
    for (const pid of readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid))
      try {
        holdsNone(own(pid, "cmdline"));
      } catch (error) {
        // It ended while we looked.
        if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      }
    expect(pids.some((pid) => own(pid, "environ").includes(`TOKEN=${value}`))).toBe(true);
    const { stdout } = await execa("grep", ["-rlF", value, product.folder], { reject: false });
    const holding = stdout.split("\n").filter((path) => !/\/(out|mask)$/.test(path));
    expect(holding).toEqual([]);
    for (const path of stdout.split("\n")) expect(statSync(path).mode & 0o077).toBe(0);
    expect(stdout).toContain(join(id, "mask"));
    await product.api.stop(id);
  });

  it("is shown as stars in the arguments of what lives on", async () => {
    const { id, survivors } = await product.api.exec({
      ...{ node: "n1", env },
      command: `sh -c 'sleep 600; true' "$TOKEN" >/dev/null 2>&1 &`,
    });
    expect(JSON.stringify(survivors)).toContain(stars);
    await product.api.stop(id);
  });

  it("is nowhere in the database as it is, in no list and in no log", async () => {
    const { id } = await product.api.start({ node: "n1", command: 'echo "up $TOKEN"; sleep 600', env });
    await product.api.printed(id, "up");
    const lists = ["secrets", "processes", "nodes", "fanouts"].map((name) =>
      product.api.get(`GET /v1/${name}`),
    );
    const rows = await everything(product.databaseUrl);
    expect(rows).toContain("sleep 600");
    for (const text of [rows, product.log, JSON.stringify(await Promise.all(lists))]) holdsNone(text);
    await product.api.stop(id);
  });
});
