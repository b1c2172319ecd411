import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AuditView } from "#shared/api/audit.ts";
import { useService } from "./service.ts";

const { service, node, started } = useService();

const entries = async (query = ""): Promise<AuditView[]> =>
  (await service.get(`/v1/audit${query}`)).body["data"] as AuditView[];
const newest = async (): Promise<AuditView | undefined> => (await entries("?limit=1"))[0];
const last = ({ headers }: { headers: Headers }) => headers.get("x-request-id");
const root = { kind: "root", id: null, name: "admin" };

type Token = { id: string; token: string };
const tokenFor = async (body: object = {}): Promise<Token> =>
  (await service.post("/v1/tokens", { name: "ci", role: "admin", ...body })).body as Token;
const by = ({ token }: Token) => ({ authorization: `Bearer ${token}` });

describe("the audit", () => {
  it("says of a start who, what, where, when and under which request, but nothing of env, stdin and tokens", async () => {
    const token = await tokenFor({ name: "build server" });
    const secret = randomBytes(16).toString("hex");
    const process = {
      ...{ node: node.id, command: `curl -H 'Authorization: Bearer ${secret}' drvt_${secret}`, cwd: "/tmp" },
      ...{ env: { PASSWORD: secret }, stdin: { text: secret } },
    };
    const answer = await service.post("/v1/processes", process, by(token));
    const entry = await newest();
    expect(entry).toMatchObject({
      id: expect.stringMatching(/^aud_/) as string,
      actor: { kind: "token", id: token.id, name: "build server" },
      address: null,
      operation: "startProcess",
      object: { kind: "process", id: answer.body["id"] },
      node: { id: node.id },
      input: { node: node.id, command: "curl -H 'Authorization: Bearer *** drvt_***", cwd: "/tmp" },
      status: 201,
      code: null,
      requestId: last(answer),
    });
    expect(entry?.node?.name).toEqual(expect.any(String));
    expect(JSON.stringify(entry)).not.toContain(secret);
  });

  it("has the address that the door of the runtime knows", async () => {
    const request = new Request("http://drover.test/v1/nodes/none/resume", {
      method: "POST",
      headers: { authorization: "Bearer the-admin-token" },
    });
    await service.app.fetch(request, { address: "::ffff:192.0.2.7" });
    expect(await newest()).toMatchObject({ address: "192.0.2.7", actor: root, operation: "resumeNode" });
  });

  it("has what was refused: by the guard, for want of the thing, by its shape", async () => {
    await service.post("/v1/processes", { node: node.id, command: "rm -rf /" });
    expect(await newest()).toMatchObject({
      ...{ operation: "startProcess", status: 422, code: "command_refused", node: { id: node.id } },
      ...{ input: { command: "rm -rf /" }, object: { kind: "process", id: null } },
    });
    await service.post("/v1/nodes/no-such-node/drain", { reason: "hardware" });
    expect(await newest()).toMatchObject({
      ...{ operation: "drainNode", status: 404, code: "not_found", node: null },
      ...{ input: { reason: "hardware" }, object: { kind: "node", id: "no-such-node" } },
    });
    await service.post("/v1/processes", { node: node.id, command: "x", unknown: 1 });
    expect(await newest()).toMatchObject({ status: 400, code: "invalid_request", input: {} });
    expect(await entries("?result=command_refused&limit=1")).toMatchObject([{ code: "command_refused" }]);
  });

  it("has what a role or a scope did not let do, with what was tried", async () => {
    const start = { node: node.id, command: "id" };
    const viewer = await tokenFor({ role: "viewer" });
    expect((await service.post("/v1/processes", start, by(viewer))).status).toBe(403);
    const tried = { operation: "startProcess", node: { id: node.id }, input: { command: "id" } };
    expect(await newest()).toMatchObject({
      ...tried,
      actor: { id: viewer.id },
      status: 403,
      code: "forbidden",
    });
    const elsewhere = await tokenFor({ role: "operator", scope: { selector: "no=where" } });
    expect((await service.post("/v1/processes", start, by(elsewhere))).status).toBe(404);
    expect(await newest()).toMatchObject({ ...tried, actor: { id: elsewhere.id }, code: "not_found" });
  });

  it("names the node and the process of a signal, a stop, a write and a deletion", async () => {
    const id = await started({ stdin: "pipe" });
    const about = { object: { kind: "process", id }, node: { id: node.id } };
    await service.post(`/v1/processes/${id}/stdin`, { text: "the secret answer", eof: true });
    expect(await newest()).toMatchObject({ ...about, operation: "writeStdin", input: { eof: true } });
    expect(JSON.stringify(await newest())).not.toContain("secret answer");
    await service.post(`/v1/processes/${id}/signal`, { signal: "HUP" });
    expect(await newest()).toMatchObject({ ...about, operation: "signalProcess", input: { signal: "HUP" } });
    await service.post(`/v1/processes/${id}/stop`, { graceMs: 0 });
    expect(await newest()).toMatchObject({ ...about, operation: "stopProcess", input: { graceMs: 0 } });
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status !== "running" && row.status !== "stopping");
    expect((await service.send("DELETE", `/v1/processes/${id}`)).status).toBe(204);
    expect(await newest()).toMatchObject({ ...about, operation: "deleteProcess", status: 204 });
  });

  it("has the entry of a start and of a stop while their answers still wait", async () => {
    const waiting = service.post("/v1/processes?waitMs=60000", { node: node.id, command: "sleep 60" });
    await expect.poll(newest).toMatchObject({ operation: "startProcess", status: 201 });
    const entry = await newest();
    const id = entry?.object.id ?? "";
    const stopping = service.post(`/v1/processes/${id}/stop`);
    await expect.poll(newest).toMatchObject({ operation: "stopProcess", status: 200, object: { id } });
    node.played.exit(id);
    expect(last(await waiting)).toBe(entry?.requestId);
    await stopping;
    expect(await entries(`?object=${id}`)).toHaveLength(2);
  });

  it("has what rules: tokens, join tokens, leases, policies and fan-outs, without their secrets", async () => {
    const token = await tokenFor({ name: "made", role: "viewer", scope: { selector: "env=ci" } });
    expect(await newest()).toMatchObject({
      ...{ operation: "createToken", object: { kind: "token", id: token.id } },
      input: { name: "made", role: "viewer", scope: { selector: "env=ci" } },
    });
    await service.send("DELETE", `/v1/tokens/${token.id}`);
    expect(await newest()).toMatchObject({ operation: "revokeToken", object: { id: token.id }, status: 204 });
    const { body: join } = await service.post("/v1/join-tokens", { labels: { env: "ci" } });
    expect(await newest()).toMatchObject({ operation: "createJoinToken", input: { labels: { env: "ci" } } });
    const { body: lease } = await service.post(`/v1/nodes/${node.id}/lease`, { reason: "disk", ttlMs: 9000 });
    expect(await newest()).toMatchObject({ operation: "leaseNode", object: { id: node.id }, status: 201 });
    await service.send("DELETE", `/v1/nodes/${node.id}/lease`);
    await service.send("PUT", "/v1/policy", { refusePrograms: ["docker"] });
    expect(await newest()).toMatchObject({ operation: "setPolicy", input: { refusePrograms: ["docker"] } });
    const process = { command: "uptime", env: { PASSWORD: "correct horse" } };
    const selector = `name=${String((await service.get(`/v1/nodes/${node.id}`)).body["name"])}`;
    const { body: fanout } = await service.post("/v1/fanouts", { selector, process });
    expect(await newest()).toMatchObject({
      ...{ operation: "createFanout", object: { kind: "fanout", id: fanout["id"] } },
      input: { selector, process: { command: "uptime" } },
    });
    const all = JSON.stringify(await entries("?limit=200"));
    for (const secret of [token.token, join["token"], lease["leaseId"], "correct horse"])
      expect(all).not.toContain(secret);
  });

  it("has an enrolment with the join token that it came by, and of many bad ones a bounded number", async () => {
    const { body } = await service.post("/v1/join-tokens", {});
    const keyHash = createHash("sha256").update(randomBytes(32)).digest("hex");
    const enroll = (joinToken: unknown, name: string) =>
      service.post("/v1/enroll", { joinToken, name, keyHash }, { authorization: "" });
    const { nodeId } = (await enroll(body["token"], "enrolled")).body;
    expect(await newest()).toMatchObject({
      ...{ operation: "enrollNode", actor: { kind: "join_token" }, node: { id: nodeId, name: "enrolled" } },
      ...{ object: { kind: "node", id: nodeId }, status: 201 },
    });
    expect((await newest())?.actor.id).toMatch(/^tok_/);
    service.rig.clock.aheadMs += 60_000;
    for (let n = 0; n < 70; n++) expect((await enroll("drvj_bad", "bad")).status).toBe(401);
    const bad = async () => entries("?operation=enrollNode&result=unauthorized&limit=200");
    expect(await bad()).toHaveLength(60);
    service.rig.clock.aheadMs += 60_000;
    await enroll("drvj_bad", "bad");
    expect((await bad())[0]).toMatchObject({ actor: { kind: "nobody" }, input: { leftOut: 10 } });
    expect(JSON.stringify(await bad())).not.toContain("drvj_bad");
  });

  it("has nothing of who was not let in at all, and nothing of what only reads", async () => {
    const before = await newest();
    const start = { node: node.id, command: "x" };
    expect((await service.post("/v1/processes", start, { authorization: "Bearer wrong" })).status).toBe(401);
    const id = await started();
    const entry = await newest();
    expect((await entries("?limit=2"))[1]).toEqual(before);
    await service.get(`/v1/processes/${id}`);
    await service.post(`/v1/processes/${id}/wait`, { for: ["exit"], waitMs: 0 });
    await service.post("/v1/policy/try", { command: "ls" });
    expect(await newest()).toEqual(entry);
  });

  it("cuts what is long, and says so", async () => {
    await service.post("/v1/processes", { node: node.id, command: "x".repeat(20_000), shell: "sh" });
    const cut = await newest();
    expect(cut?.input["command"]).toMatch(/^x{7000,8192}…$/);
    await service.post("/v1/processes", { node: node.id, argv: Array.from({ length: 500 }, () => "word") });
    const words = (await newest())?.input["argv"] as string[];
    expect([words.length, words.at(-1)]).toEqual([201, "…"]);
  });

  it("keeps the name of a node that is deleted", async () => {
    const { id } = await service.rig.node();
    const name = String((await service.get(`/v1/nodes/${id}`)).body["name"]);
    await service.send("DELETE", `/v1/nodes/${name}`);
    expect(await newest()).toMatchObject({ operation: "deleteNode", node: { id, name }, status: 204 });
    expect(await entries(`?node=${id}`)).toMatchObject([{ operation: "deleteNode" }]);
  });
});
