import { rmSync } from "node:fs";
import { availableParallelism, hostname } from "node:os";
import { afterEach, describe, expect, it } from "vitest";
import { nodeName } from "#shared/api/common.ts";
import { nodeFacts, nodeLoad } from "#shared/api/node.ts";
import { createLog, reasonOf } from "../../../node-agent/log.ts";
import { machineFacts, nameFromHost } from "../../../node-agent/machine/facts.ts";
import { bootId, machineId } from "../../../node-agent/machine/identity.ts";
import { loadMeter, parseCpuLine, parseUsedMemory, share } from "../../../node-agent/machine/load.ts";
import { temporaryFolder } from "../../support/engine.ts";

describe("machine facts", () => {
  it("say what this machine is, in the shape of the API", () => {
    const facts = machineFacts(256, ["memBytes"]);
    expect(nodeFacts.parse(facts)).toEqual(facts);
    expect(facts).toMatchObject({
      os: process.platform,
      arch: process.arch,
      hostname: hostname(),
      cpus: availableParallelism(),
      enforces: ["memBytes"],
      maxProcesses: 256,
    });
    expect(facts.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(facts.memBytes).toBeGreaterThan(2 ** 20);
  });

  it.each([
    ["web-1.example.com", "web-1.example.com"],
    ["älter host", "lter-host"],
    ["node_7", "7"],
    ["---", "node"],
    ["", "node"],
    ["x".repeat(70), "x".repeat(63)],
  ])("make the hostname %j the node name %s", (host, name) => {
    expect(nameFromHost(host)).toBe(name);
    expect(nodeName.safeParse(name).success).toBe(true);
  });

  it("tell machine and boot by ids that stay", () => {
    expect(machineId("/tmp")).toBe(machineId("/tmp"));
    expect(machineId("/tmp")).not.toBe("");
    expect(bootId()).toBe(bootId());
  });
});

describe("the load of a machine", () => {
  const folders: string[] = [];
  afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

  it("is the busy share of the CPU time between two readings", () => {
    const before = parseCpuLine("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3");
    const now = parseCpuLine("cpu  150 10 110 860 20 5 5 40 0 0\n");
    expect(share(before, now)).toBe(120 / 200);
    expect(share(now, now)).toBe(0);
    expect(share(now, before)).toBe(0);
  });

  it("counts memory that programs hold, not caches", () => {
    expect(
      parseUsedMemory("MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    700 kB\n"),
    ).toBe(300 * 1024);
    expect(parseUsedMemory("")).toBeUndefined();
  });

  it("is read from this machine in the shape of the API", async () => {
    const folder = temporaryFolder();
    folders.push(folder);
    const load = await loadMeter(folder)();
    expect(nodeLoad.parse(load)).toEqual(load);
    expect(load.memUsedBytes).toBeGreaterThan(0);
    expect(load.diskFreeBytes).toBeGreaterThan(0);
  });
});

describe("the agent's log", () => {
  const now = () => new Date("2026-01-02T03:04:05Z");
  const lines: string[] = [];
  afterEach(() => void lines.splice(0));

  it("is one line an event, for people or as JSON", () => {
    createLog({ format: "pretty", write: (line) => lines.push(line), now }).warn("link.disconnected", {
      why: "it went\naway",
      retryInMs: 5,
      left: undefined,
    });
    createLog({ format: "json", write: (line) => lines.push(line), now }).info("link.connected", {
      node: "n1",
    });
    expect(lines).toEqual([
      '03:04:05 warn link.disconnected why="it went\\naway" retryInMs=5\n',
      '{"at":"2026-01-02T03:04:05.000Z","level":"info","event":"link.connected","node":"n1"}\n',
    ]);
  });

  it("never shows a secret, wherever it appears", () => {
    const log = createLog({ format: "json", write: (line) => lines.push(line), now });
    log.hide("s3cret");
    log.error("x", { url: "http://s3cret@a", nested: { token: "s3cret" } });
    expect(lines.join("")).not.toContain("s3cret");
  });

  it("names the reason of a failure that only its parts tell", () => {
    expect(reasonOf(new AggregateError([new Error("a"), new Error("b")], ""))).toBe("a; b");
    expect(reasonOf("text")).toBe("text");
  });
});
