import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everything } from "../support/every-row.ts";
import { pidsWith } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";

const product = useProduct();
const outside = mkdtempSync(join(tmpdir(), "drover outside-"));
const lock = join(outside, "a lock of whoever starts the agent");
const hidden = {
  AWS_SECRET_ACCESS_KEY: "not-for-commands-1",
  DATABASE_URL: "postgres://not-for-commands-2",
  DROVER_ADMIN_TOKEN: "not-for-commands-3",
  DROVER_SECRET_KEY: "not-for-commands-4",
  NODE_OPTIONS: "--no-deprecation",
};

beforeAll(async () => {
  writeFileSync(lock, "");
  const fd = openSync(lock, "r");
  await product.agent("n1", { inherited: [fd], env: hidden });
  closeSync(fd);
});
afterAll(() => rmSync(outside, { recursive: true, force: true }));

const secrets = { env: { TOKEN: "sesame-in-env" }, stdin: { text: "sesame-on-stdin\n" } };

const texts = (text: string): string[] => [
  text,
  Buffer.from(text).toString("base64").slice(0, 12),
  Buffer.from(text).toString("hex"),
];

async function isSealed(id: string): Promise<boolean> {
  const sql = postgres(product.databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const [row] = await sql<
      { sealed: boolean }[]
    >`select sealed is not null as sealed from processes where id = ${id}`;
    return row?.sealed ?? false;
  } finally {
    await sql.end();
  }
}

const nodeKey = (): string => {
  const kept = readFileSync(join(product.agents.get("n1")?.dataDir ?? "", "identity.json"), "utf8");
  return (JSON.parse(kept) as { key: string }).key;
};

describe("env and stdin of a process", () => {
  it("are nowhere in the database as they are, and nowhere at all after the end", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: "read -r line; echo up; while [ ! -e go ]; do sleep 0.05; done",
      cwd: product.folder,
      ...secrets,
    });
    await product.api.printed(id, "up");
    expect(await isSealed(id)).toBe(true);
    const rows = await everything(product.databaseUrl);
    expect(rows).toContain("read -r line");
    for (const secret of ["sesame-in-env", "sesame-on-stdin"])
      for (const form of texts(secret)) expect(rows).not.toContain(form);
    writeFileSync(join(product.folder, "go"), "");
    await product.api.final(id);
    expect(await isSealed(id)).toBe(false);
  });

  it("are shown by no answer and no log, and kept in files for the agent's user alone", async () => {
    const done = await product.api.exec({ node: "n1", command: "true", ...secrets, key: "k" });
    const seen = [
      done,
      await product.api.process(done.id),
      await product.api.get("GET /v1/processes"),
      product.log,
    ];
    expect(JSON.stringify(seen)).not.toContain("sesame");
    const procs = join(product.agents.get("n1")?.dataDir ?? "", "procs");
    for (const folder of readdirSync(procs)) expect(statSync(join(procs, folder)).mode & 0o077).toBe(0);
  });

  it("are in no argument of any program, and no token or node key is", async () => {
    const { id } = await product.api.start({
      node: "n1",
      command: "read -r line; echo up; sleep 600",
      ...secrets,
    });
    await product.api.printed(id, "up");
    const listed = execFileSync("ps", ["-eww", "-o", "args"], { encoding: "utf8" });
    expect(listed).toContain("sleep 600");
    for (const secret of ["sesame-in-env", "sesame-on-stdin", product.token, nodeKey()])
      expect(listed).not.toContain(secret);
    await product.api.stop(id);
  });

  it("and tokens are in no error, and a token in a URL counts for nothing and is not logged", async () => {
    const wrong = "drva_wrong-wrong-wrong-wrong-wrong";
    const answers = [
      await product.api.api("GET /v1/nodes", { token: wrong }),
      await product.api.api("GET /v1/nodes", { token: null, query: { token: product.token } }),
      await product.api.api("GET /v1/nodes", { query: { access_token: product.token } }),
      await product.api.api("POST /v1/processes", {
        body: { node: "n1", command: "true", ...secrets, cwd: "x" },
      }),
      await product.api.api("POST /v1/processes", {
        body: { node: "n1", command: "true", env: { A: "sesame\0" } },
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 400, 400, 400]);
    for (const text of [JSON.stringify(answers.map(({ value }) => value)), product.log])
      for (const secret of [wrong, product.token, "sesame"]) expect(text).not.toContain(secret);
  });

  it("keep admin token, join token and node key out of database and logs", async () => {
    const rows = await everything(product.databaseUrl);
    for (const secret of [product.token, nodeKey()]) {
      expect(rows).not.toContain(secret);
      expect(product.log).not.toContain(secret);
    }
  });
});

describe("a command", () => {
  it("sees nothing of the agent's own environment but what is meant for it", async () => {
    const { result } = await product.api.exec({
      node: "n1",
      command: "env; tr '\\0' '\\n' </proc/$PPID/environ",
    });
    expect(result.text).toContain("DROVER_PROCESS_ID=");
    expect(result.text).not.toContain("not-for-commands");
    expect(result.text).not.toMatch(/JOIN_TOKEN|NODE_OPTIONS/);
    for (const name of ["PATH", "HOME", "LANG", "TERM"])
      expect(result.text).toMatch(new RegExp(`^${name}=.+`, "m"));
  });

  it("has stdin, stdout and stderr and no other descriptor, not the agent's nor its starter's", async () => {
    const { result } = await product.api.exec({ node: "n1", argv: ["ls", "-l", "/proc/self/fd"] });
    const fds = [...result.text.matchAll(/ (\d+) -> (.*)$/gm)].map(
      ([, fd, target]) => [Number(fd), target] as const,
    );
    // The last one is the folder that `ls` reads.
    expect(fds.map(([fd]) => fd)).toEqual([0, 1, 2, 3]);
    expect(fds[3]?.[1]).toMatch(/^\/proc\/\d+\/fd$/);
    expect(result.text).not.toContain("lock");
  });

  it("starts with default signals and an empty mask", async () => {
    const { result } = await product.api.exec({
      node: "n1",
      argv: ["grep", "^Sig[BI]", "/proc/self/status"],
    });
    expect(result.text).toBe("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  });

  it("and its wrapper hold none of the starter's descriptors while it lives", async () => {
    const { id } = await product.api.start({ node: "n1", command: "echo up; sleep 600" });
    await product.api.printed(id, "up");
    const pids = pidsWith(id);
    expect(pids.length).toBeGreaterThan(1);
    expect(pids.flatMap(opened)).not.toContain(lock);
    await product.api.stop(id);
  });
});

const opened = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    // It ended while we looked.
    return [];
  }
};
