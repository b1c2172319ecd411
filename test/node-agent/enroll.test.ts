import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readConfig, type AgentConfig } from "../../node-agent/config.ts";
import { openDataFolder, type DataFolder } from "../../node-agent/data-folder.ts";
import { enroll } from "../../node-agent/enroll.ts";
import { keyHash, readIdentity } from "../../node-agent/identity.ts";
import { createLog } from "../../node-agent/log.ts";
import { temporaryFolder } from "../support/engine.ts";
import { FakeControlPlane } from "./link/fake-control-plane.ts";

let plane: FakeControlPlane;
let folder: DataFolder;
let lines: string[];
beforeEach(async () => {
  plane = await new FakeControlPlane().listen();
  folder = openDataFolder(temporaryFolder());
  lines = [];
});
afterEach(async () => {
  await plane.close();
  folder.close();
  rmSync(folder.path, { recursive: true, force: true });
});

const log = createLog({ format: "json", write: (line) => void lines.push(line) });
const configOf = (...more: string[]): AgentConfig =>
  readConfig(["--url", plane.url, "--token", "J", "--name", "n1", "--data-dir", folder.path, ...more], {}) ??
  expect.fail("help");
const start = (config = configOf(), signal = new AbortController().signal) =>
  enroll({ config, folder, facts: { cpus: 2 }, log, signal, random: () => 0 });
const refusal = (status: number, code: string, detail: string) => ({
  status,
  body: { type: "about:blank", title: code, status, code, detail, requestId: "r" },
});

describe("an enrolment", () => {
  it("sends the hash of a key that never leaves this machine, and keeps who we are", async () => {
    const identity = await start(configOf("--label", "env=prod", "--label", "zone=a=b"));
    expect(identity).toEqual({ nodeId: "node_1", name: "n1", key: identity.key, url: plane.url });
    expect(plane.enrolments).toEqual([
      {
        body: {
          joinToken: "J",
          name: "n1",
          keyHash: keyHash(identity.key),
          labels: { env: "prod", zone: "a=b" },
          facts: { cpus: 2 },
        },
      },
    ]);
    expect(readIdentity(folder)).toEqual({ state: "node", identity, isCopy: false });
  });

  it("that was cut before its answer was stored is repeated with the same key", async () => {
    const stopped = new AbortController();
    plane.onEnroll = () => {
      stopped.abort();
      return "hang up";
    };
    await expect(start(configOf(), stopped.signal)).rejects.toThrow("aborted");
    plane.onEnroll = (body) => ({ status: 200, body: { nodeId: "node_1", name: body.name } });
    await start();
    const [first, second] = plane.enrolments.map(({ body }) => body.keyHash);
    expect(second).toBe(first);
  });

  it.each([
    [401, "unauthorized", "this token is used up", "the join token was refused: this token is used up"],
    [
      403,
      "forbidden",
      "this token does not allow labels",
      "the join token was refused: this token does not allow labels",
    ],
    [
      409,
      "conflict",
      "a node n1 exists",
      "the name n1 was refused: a node n1 exists (or choose another name with --name)",
    ],
    [400, "invalid_request", "labels: too many", "the control plane refused this node: labels: too many"],
  ])("refused with %i ends the start and says why", async (status, code, detail, line) => {
    plane.onEnroll = () => refusal(status, code, detail);
    await expect(start()).rejects.toThrow(line);
    expect(plane.enrolments).toHaveLength(1);
  });

  it("answered by something that is no control plane ends the start", async () => {
    plane.onEnroll = () => ({ status: 404, body: "nothing here" });
    await expect(start()).rejects.toThrow("is not a Drover control plane (its /v1/enroll answered HTTP 404)");
    plane.onEnroll = () => ({ status: 200, body: "welcome to my home page" });
    await expect(start()).rejects.toThrow("is not a Drover control plane");
  });

  it("is tried again while the control plane is away, hangs up or is not ready", async () => {
    const { port } = plane;
    const config = configOf();
    await plane.close();
    const enrolled = start(config);
    await vi.waitFor(() => expect(lines.join("")).toContain("ECONNREFUSED"));
    plane = new FakeControlPlane();
    let asked = 0;
    plane.onEnroll = (body) => {
      asked++;
      if (asked === 1) return "hang up";
      if (asked === 2) return refusal(503, "unavailable", "starting");
      if (asked === 3) return refusal(429, "rate_limited", "slowly");
      return { status: 201, body: { nodeId: "node_1", name: body.name } };
    };
    await plane.listen(port);
    expect((await enrolled).nodeId).toBe("node_1");
    expect(asked).toBe(4);
  });

  it("without an address or a token says which is missing", async () => {
    await expect(start({ ...configOf(), url: undefined })).rejects.toThrow("set --url or DROVER_URL");
    await expect(start({ ...configOf(), joinToken: undefined })).rejects.toThrow(
      "--token or DROVER_JOIN_TOKEN",
    );
  });
});
