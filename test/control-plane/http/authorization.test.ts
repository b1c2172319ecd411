// The walk through the table of http/permissions.ts: every route of the description × every role × every scope, against what
// is written down here once more. A route that is added later and not written down here fails it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { roles, type Role, type TokenScope } from "#shared/api/token.ts";
import { newId } from "#shared/ids.ts";
import { enrolledNode, newProcess } from "../../contract/store-samples.ts";
import { openService, type Service } from "./service.ts";

const [ownChat, otherChat] = [newId("chat"), newId("chat")];

/** What a token is asked for: a process of no chat, or the one of the chat `ownChat`; both are on the node. */
const scopes = {
  everything: { scope: {}, asks: "process" },
  inside: { scope: { selector: "team=a" }, asks: "process" },
  outside: { scope: { selector: "team=b" }, asks: "process" },
  ownChat: { scope: { chatId: ownChat }, asks: "chatProcess" },
  ownChatElsewhere: { scope: { chatId: ownChat }, asks: "process" },
  otherChat: { scope: { chatId: otherChat }, asks: "chatProcess" },
  tasks: { scope: { tasks: [newId("task")] }, asks: "process" },
} as const satisfies Record<string, { scope: TokenScope; asks: "process" | "chatProcess" }>;
type ScopeName = keyof typeof scopes;
const scopeNames = Object.keys(scopes) as ScopeName[];

type Things = { node: string; fanout: string; token: string; process: string; chatProcess: string };
type Asked = { id: string; chatId: string | undefined; scope: TokenScope } & Things;
type Case = {
  /** The least role; below it, 403. */
  role: Role;
  /** From that role on, by scope: `+` it passes (and shows what it is asked for), `-` it passes and shows nothing of it, `0` 404, `x` 403. */
  by: string;
  call: (asked: Asked) => [call: string, body?: object];
  /** What is looked for in the answer, where that counts. */
  shows?: (asked: Asked) => string;
};

const of = (role: Role, by: string, call: Case["call"], shows?: Case["shows"]): Case => ({
  ...{ role, by, call },
  ...(shows && { shows }),
});

const nodeAct = (by: Role, method: string, verb = "", body?: object): Case =>
  of(by, "++00000", ({ node }) => [`${method} /v1/nodes/${node}${verb}`, body]);
const processAct = (by: Role, method: string, verb = "", body?: object): Case =>
  of(by, "++0+000", ({ id }) => [`${method} /v1/processes/${id}${verb}`, body]);
const fanoutAct = (by: Role, method: string, verb = ""): Case =>
  of(by, "++00000", ({ fanout }) => [`${method} /v1/fanouts/${fanout}${verb}`]);
const place = ({ node, chatId }: Asked) => (chatId === undefined ? { node } : { chatId });

const cases: Record<string, Case> = {
  whoAmI: of("viewer", "+++++++", () => ["GET /v1/me"]),
  // Any of them; these come with no session.
  signOut: of("viewer", "0000000", () => ["DELETE /v1/session"]),
  createSignInLink: of("viewer", "+++++++", () => ["POST /v1/session-codes"]),
  createToken: of("admin", "+++++++", ({ scope }) => [
    "POST /v1/tokens",
    { name: "x", role: "viewer", scope },
  ]),
  listTokens: of(
    "admin",
    "+------",
    () => ["GET /v1/tokens?limit=200"],
    ({ token }) => token,
  ),
  revokeToken: of("admin", "+000000", ({ token }) => [`DELETE /v1/tokens/${token}`]),
  createJoinToken: of("admin", "+xxxxxx", () => ["POST /v1/join-tokens", {}]),
  listAudit: of("admin", "+xxxxxx", () => ["GET /v1/audit"]),

  getPolicy: of("viewer", "+++xxxx", () => ["GET /v1/policy"]),
  setPolicy: of("admin", "+xxxxxx", () => ["PUT /v1/policy", {}]),
  tryPolicy: of("viewer", "+++++++", () => ["POST /v1/policy/try", { command: "ls" }]),

  listNodes: of(
    "viewer",
    "++-xxxx",
    () => ["GET /v1/nodes?limit=200"],
    ({ node }) => node,
  ),
  getNode: nodeAct("viewer", "GET"),
  changeNode: nodeAct("admin", "PATCH", "", { maxProcesses: 3 }),
  deleteNode: nodeAct("admin", "DELETE"),
  drainNode: nodeAct("admin", "POST", "/drain", { reason: "x" }),
  resumeNode: nodeAct("admin", "POST", "/resume"),
  leaseNode: nodeAct("admin", "POST", "/lease", { reason: "x", ttlMs: 1000 }),
  releaseNode: nodeAct("admin", "DELETE", "/lease"),
  rotateNodeKey: nodeAct("admin", "POST", "/rotate-key"),

  listProcesses: of(
    "viewer",
    "++-+---",
    () => ["GET /v1/processes?limit=200"],
    ({ id }) => id,
  ),
  getProcess: processAct("viewer", "GET"),
  waitForProcess: processAct("viewer", "POST", "/wait", { for: ["exit"], waitMs: 0 }),
  readOutput: processAct("viewer", "GET", "/output"),
  followProcess: processAct("viewer", "GET", "/events"),
  listPorts: processAct("viewer", "GET", "/ports"),
  startProcess: of("operator", "++0+000", (asked) => [
    "POST /v1/processes",
    { ...place(asked), command: "true", ifOffline: "queue" },
  ]),
  cancelProcess: of("operator", "++0+000", (asked) => [
    "POST /v1/processes/cancel",
    { ...place(asked), key: "never seen" },
  ]),
  signalProcess: processAct("operator", "POST", "/signal", { signal: "TERM" }),
  stopProcess: processAct("operator", "POST", "/stop"),
  writeStdin: processAct("operator", "POST", "/stdin", { text: "x" }),
  extendProcess: processAct("operator", "POST", "/extend", { timeoutMs: 1000 }),
  resizeTerminal: processAct("operator", "POST", "/resize"),
  attachTerminal: processAct("operator", "GET", "/attach"),
  deleteProcess: processAct("operator", "DELETE"),

  listFanouts: of(
    "viewer",
    "++-xxxx",
    () => ["GET /v1/fanouts?limit=200"],
    ({ fanout }) => fanout,
  ),
  getFanout: fanoutAct("viewer", "GET"),
  listFanoutNodes: fanoutAct("viewer", "GET", "/nodes"),
  followFanout: fanoutAct("viewer", "GET", "/events"),
  createFanout: of(
    "operator",
    "++-xxxx",
    ({ node }) => ["POST /v1/fanouts", { selector: `name=${node}`, process: { command: "true" } }],
    () => "fan_",
  ),
  pauseFanout: fanoutAct("operator", "POST", "/pause"),
  resumeFanout: fanoutAct("operator", "POST", "/resume"),
  cancelFanout: fanoutAct("operator", "POST", "/cancel"),
  retryFanout: fanoutAct("operator", "POST", "/retry-failed"),

  listSecrets: of("admin", "+xxxxxx", () => ["GET /v1/secrets"]),
  setSecret: of("admin", "+xxxxxx", () => ["POST /v1/secrets", { name: "walked", value: "a-long-value" }]),
  deleteSecret: of("admin", "+xxxxxx", () => ["DELETE /v1/secrets/of-the-walk"]),
  resealSecrets: of("admin", "+xxxxxx", () => ["POST /v1/secret-key/reseal", {}]),

  followEvents: of("viewer", "+++++++", () => ["GET /v1/events"]),
};

/** Needs no token: whoever calls gets as far as the body. */
const open = [
  "isAlive",
  "isReady",
  "describeApi",
  "readDocs",
  "enrollNode",
  "signIn",
  "signInByProvider",
  "returnFromProvider",
];

type Operations = Record<string, { operationId: string; security?: object[] }>;
const calls = Object.keys(cases).length * roles.length * scopeNames.length;

describe("authorization", () => {
  let service: Service;
  let described: { operationId: string; call: string; isOpen: boolean }[];
  const tokens = new Map<string, string>();
  let things: Things;

  beforeAll(async () => {
    service = await openService();
    await service.post("/v1/secrets", { name: "of-the-walk", value: "a-long-value" });
    const { paths } = (await service.get("/openapi.json")).body as { paths: Record<string, Operations> };
    described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId, security }]) => ({
        ...{ operationId, call: `${method.toUpperCase()} ${path}`, isOpen: security?.length === 0 },
      })),
    );
    for (const role of roles)
      for (const name of scopeNames) {
        const { body } = await service.post("/v1/tokens", { name, role, scope: scopes[name].scope });
        tokens.set(`${role} ${name}`, String(body["token"]));
      }
    things = await makeThings();
  });
  afterAll(() => service.close());

  async function makeThings(): Promise<Things> {
    const { store } = service.needs;
    const node = `n-${newId("node").slice(-10)}`;
    const { id: nodeId } = await enrolledNode(store, { name: node, labels: { team: "a" } });
    const start = { node, command: "true", ifOffline: "queue" };
    const chat = newProcess({ nodeId, status: "queued", launch: { chatId: ownChat }, createdAt: new Date() });
    await store.processes.insert(chat);
    const made = async (path: string, body: object) => String((await service.post(path, body)).body["id"]);
    return {
      node,
      fanout: await made("/v1/fanouts", { selector: `name=${node}`, process: { command: "true" } }),
      token: await made("/v1/tokens", { name: "x", role: "viewer" }),
      process: await made("/v1/processes", start),
      chatProcess: chat.id,
    };
  }

  /** The answer's status, and its text where there is an end to it. */
  async function ask(call: string, body: object | undefined, token: string | null) {
    const [method = "", path = ""] = call.split(" ");
    const leaving = new AbortController();
    const answer = await service.fetch(path, {
      method,
      headers: {
        authorization: token === null ? "" : `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: leaving.signal,
    });
    const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (isStream) await answer.body?.cancel();
    const text = isStream ? "" : await answer.text();
    leaving.abort();
    return { status: answer.status, text };
  }

  const outcome = ({ status, text }: { status: number; text: string }, shown: string | undefined): string => {
    if (status === 401 || status === 500) return `${status} ${text}`;
    if (status === 403) return "x";
    if (status === 404) return "0";
    return shown === undefined || text.includes(shown) ? "+" : "-";
  };

  it("is said of every route of the description, and of nothing else", () => {
    const names = described.map(({ operationId }) => operationId).toSorted();
    expect(names).toEqual([...Object.keys(cases), ...open].toSorted());
    expect(
      described
        .filter(({ isOpen }) => isOpen)
        .map(({ operationId }) => operationId)
        .toSorted(),
    ).toEqual(open.toSorted());
  });

  it("lets nobody without a token, or with a wrong one, on to any route but the open ones", async () => {
    for (const { call, isOpen } of described)
      for (const token of [null, "drvt_wrong"]) {
        const body = call.startsWith("GET") ? undefined : {};
        const { status } = await ask(call.replaceAll(/\{\w+\}/g, "x"), body, token);
        expect(`${call} ${status === 401 && !call.includes("enroll")}`).toBe(`${call} ${!isOpen}`);
      }
  });

  it(`holds in all ${calls} calls: ${Object.keys(cases).length} routes × ${roles.length} roles × ${scopeNames.length} scopes`, async () => {
    const wrong: string[] = [];
    let walked = 0;
    for (const [operation, { role: least, by, call, shows }] of Object.entries(cases))
      for (const role of roles)
        for (const [at, name] of scopeNames.entries()) {
          const { scope, asks } = scopes[name];
          const chatId = asks === "chatProcess" ? ownChat : undefined;
          const asked: Asked = { ...things, id: things[asks], chatId, scope };
          const answer = await ask(...argumentsOf(call(asked)), tokens.get(`${role} ${name}`) ?? "");
          const expected = roles.indexOf(role) < roles.indexOf(least) ? "x" : by[at];
          const found = outcome(answer, shows?.(asked));
          if (found !== expected) wrong.push(`${operation} by ${role}, ${name}: ${found}, not ${expected}`);
          walked += 1;
          if (found === "+" && !call(asked)[0].startsWith("GET")) things = await makeThings();
        }
    expect(wrong).toEqual([]);
    expect(walked).toBe(calls);
  });

  const argumentsOf = ([call, body]: ReturnType<Case["call"]>): [string, object | undefined] => [call, body];
});
