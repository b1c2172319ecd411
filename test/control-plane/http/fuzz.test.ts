import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import fc from "fast-check";
import { createApp } from "../../../control-plane/app.ts";
import type { Needs } from "../../../control-plane/needs.ts";
import { operationsOf, type Description, type FuzzRequest, type Operation } from "../../support/fuzz/api.ts";
import { fuzz, fuzzTimeoutMs, heapBytes, sampled } from "../../support/fuzz/runs.ts";
import { openService, type Service } from "./service.ts";

const unlimited = { requestsPerToken: 0, requestsPerAddress: 0, failedPerMinute: 0, openPerToken: 0 };
// The routes are laid out before any need is used.
const described = createApp({
  config: { version: "0", publicUrl: "http://drover.test", limits: unlimited },
} as Needs);
const operations = operationsOf((await (await described.request("/openapi.json")).json()) as Description);

const runs = 40;
/** A client that waits no longer: it ends waiting and streams. */
const leavesAfterMs = 25;

describe("whatever is sent to a route", { timeout: fuzzTimeoutMs }, () => {
  let service: Service;
  let node: Awaited<ReturnType<Service["node"]>>;
  let known: Record<string, string[]>;

  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  // Some routes delete or rename what others need.
  beforeEach(async () => {
    node = await service.node();
    node.played.onRequest = ({ type }) => answers[type as keyof typeof answers] ?? {};
    const ids = await Promise.all([
      started({}),
      started({ output: "split", key: "k" }),
      ended(),
      fannedOut(),
    ]);
    known = {
      ...common,
      processes: ids.slice(0, 3),
      fanouts: ids.slice(3),
      nodes: [node.id, node.id.replace("_", "-")],
      node: [node.id],
      fanout: ids.slice(3),
      cursor: ids,
    };
  });
  afterEach(async () => {
    await service.send("PUT", "/v1/policy", {});
    await service.send("DELETE", `/v1/nodes/${node.id}`);
  });

  const given = ({ method, path }: Operation) => ({
    texts: (name: string) => fc.constantFrom(...(known[name] ?? any)),
    sample: samples(node.id)[`${method} ${path}`],
  });
  const started = async (body: object): Promise<string> => {
    const { body: made } = await service.post("/v1/processes", { node: node.id, command: "x", ...body });
    return String(made["id"]);
  };
  const ended = async (): Promise<string> => {
    const id = await started({});
    await service.rig.until(id, (row) => row.status === "running");
    node.played.write(id, "one\ntwo\n\u{FFFD}\u{1F600}\n");
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status === "exited");
    return id;
  };
  const fannedOut = async (): Promise<string> =>
    String((await service.post("/v1/fanouts", { selector: "*", process: { command: "x" } })).body["id"]);

  const send = (method: string, { path, headers, body }: FuzzRequest): Promise<Response> =>
    service.fetch(path, {
      method,
      headers,
      signal: AbortSignal.timeout(leavesAfterMs),
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
    });

  const tried = async (operation: Operation, request: FuzzRequest): Promise<void> => {
    const answer = await send(operation.method, request);
    const type = answer.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream") || type.startsWith("application/octet-stream"))
      return answer.body?.cancel();
    if (operation.path !== "/docs") expect(type).not.toContain("html");
    const text = await answer.text();
    expect({ text, isNamed: operation.statuses.includes(answer.status) }).toMatchObject({ isNamed: true });
    if (answer.status < 400) return;
    expect(type).toBe("application/problem+json");
    const { code } = JSON.parse(text) as { code: string };
    // That its node is away is what the request asked for.
    if (answer.status >= 500) expect(code).toBe("node_offline");
  };

  it.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    "%s answers what its description names, and never by a failure of its own",
    async (_title, operation) => {
      await fuzz(operation.requests(given(operation)), {
        runs,
        tryOne: (request) => tried(operation, request),
      });
    },
  );

  it("the heap stays as it was", async () => {
    const all = operations.flatMap((operation) =>
      sampled(operation.requests(given(operation)), 10).map((request) => ({ operation, request })),
    );
    const round = async (): Promise<number> => {
      for (const { operation, request } of all) await tried(operation, request);
      // What the test itself keeps of it.
      node.played.told.length = 0;
      node.played.launches.length = 0;
      service.rig.lines.length = 0;
      return heapBytes();
    };
    await round();
    const first = await round();
    const later = [await round(), await round(), await round()];
    // Far less than one in ten of these requests, were its body kept.
    expect(Math.min(...later) - first).toBeLessThan(2_000_000);
  });
});

const answers = {
  stdin: { writtenBytes: 1 },
  ports: { ports: [] },
  wait: { met: null },
  grep: { matches: [], next: 0, totalBytes: 0 },
  "rotate-key": { keyHash: "0".repeat(64) },
};

/** What means something in a field of this name; one that is not named gets any of them. */
const common = {
  command: ["true", "echo a b", "rm -rf /", "sleep 1 &", "if then"],
  argv: ["echo", "a", ""],
  cwd: ["/", "/tmp"],
  selector: ["*", "a=b", "!a", "a in (b,c)", "web-*", "name=x"],
  status: ["running", "exited,lost", "online", "offline"],
  signal: ["TERM", "sigkill", "USR1", "0"],
  label: ["a=b", "a="],
  key: ["k", "other"],
  pattern: ["two", "(a*)*b", "^t", "["],
  grep: ["two", "(a*)*b", "^t", "["],
  from: ["0", "7", "2-0-0", "0.0"],
  reason: ["rest"],
  b64: ["YQ==", ""],
  text: ["a", ""],
};
const any = [...new Set(Object.values(common).flat())];

/** Bodies with what a schema cannot say: that one of two fields is needed. */
const samples = (node: string): Record<string, object> => ({
  "POST /v1/processes": { node, command: "true" },
  "POST /v1/processes/cancel": { node, key: "k" },
  "POST /v1/fanouts": { selector: "*", process: { command: "true" } },
  "POST /v1/policy/try": { command: "true" },
  "POST /v1/processes/{id}/stdin": { b64: "YQ==" },
  "POST /v1/processes/{id}/signal": { signal: "TERM" },
  "POST /v1/processes/{id}/wait": { for: ["quiet"], quietMs: 1 },
});
