import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ruleNames } from "#shared/guard/rules.ts";
import { openService, type Service } from "./service.ts";

const advice = expect.stringMatching(/Do not rephrase .* ask a person/);

describe("the policy of the fleet", () => {
  let service: Service;
  let node: string;
  beforeAll(async () => {
    service = await openService();
    node = (await service.node()).id;
  });
  afterEach(() => service.send("PUT", "/v1/policy", {}));
  afterAll(() => service.close());

  const start = (command: string, more: object = {}) =>
    service.post("/v1/processes", { node, command, ...more });

  it("is the default one until one is given, with every default written out", async () => {
    expect((await service.get("/v1/policy")).body).toEqual({
      policy: { allowRules: [], refusePrograms: [], readOnly: false, limits: {} },
      updatedAt: null,
      rules: ruleNames,
    });
    const given = await service.send("PUT", "/v1/policy", { refusePrograms: ["docker"] });
    expect(given).toMatchObject({ status: 200, body: { policy: { refusePrograms: ["docker"] } } });
    const { body } = await service.get("/v1/policy");
    expect(body).toEqual(given.body);
    expect(body["updatedAt"]).toEqual(expect.any(String));
  });

  it("refuses a start with rule, reason and advice, and stores nothing", async () => {
    await service.send("PUT", "/v1/policy", { refusePrograms: ["docker"] });
    const before = (await service.get(`/v1/processes?node=${node}`)).body;
    expect(await start("sudo docker ps")).toMatchObject({
      status: 422,
      body: {
        code: "command_refused",
        rule: "program",
        reason: "The command runs docker, which the policy refuses.",
        advice,
        detail: expect.stringMatching(/docker.*rule program.*Do not rephrase/),
      },
    });
    expect((await service.get(`/v1/processes?node=${node}`)).body).toEqual(before);
    expect((await start("true")).status).toBe(201);
  });

  it("judges before it looks at the node, and after the shape", async () => {
    expect((await service.post("/v1/processes", { node: "nobody", command: "reboot" })).status).toBe(422);
    expect((await service.post("/v1/processes", { node: "nobody", command: "reboot", x: 1 })).status).toBe(
      400,
    );
  });

  it("lets nothing start while it is read-only, and what ran be read", async () => {
    const { body } = await start("true");
    await service.send("PUT", "/v1/policy", { readOnly: true });
    expect((await start("true")).body).toMatchObject({ code: "command_refused", rule: "read_only" });
    expect((await service.get(`/v1/processes/${String(body["id"])}`)).status).toBe(200);
  });

  it("holds for fan-outs", async () => {
    const process = { command: "ls", cwd: "/tmp" };
    await service.send("PUT", "/v1/policy", { roots: ["/srv"] });
    const refused = await service.post("/v1/fanouts", { selector: "*", process });
    expect(refused).toMatchObject({ status: 422, body: { code: "command_refused", rule: "folder" } });
  });

  it("gives a start that names no limit its own, and refuses a longer one", async () => {
    await service.send("PUT", "/v1/policy", { limits: { timeoutMs: 5000, outputBytes: 100 } });
    expect((await start("true")).body).toMatchObject({ timeoutMs: 5000 });
    expect((await start("true", { timeoutMs: 10 })).body).toMatchObject({ timeoutMs: 10 });
    expect((await start("true", { timeoutMs: 5001 })).body).toMatchObject({
      code: "command_refused",
      rule: "limit",
      reason: "The policy allows timeoutMs up to 5000; the start asks for 5001.",
    });
    expect((await start("true", { limits: { outputBytes: 101 } })).body).toMatchObject({ rule: "limit" });
  });

  it("attaches a repeat to its process although the limits were changed meanwhile", async () => {
    const first = await start("sleep 1", { key: "policy-key" });
    await service.send("PUT", "/v1/policy", { limits: { timeoutMs: 5000 } });
    expect(await start("sleep 1", { key: "policy-key" })).toMatchObject({
      status: 200,
      body: { id: first.body["id"], attached: true },
    });
  });

  it("is tried without starting anything", async () => {
    const attempt = (body: object) => service.post("/v1/policy/try", body);
    expect((await attempt({ command: "ls" })).body).toEqual({ allowed: true });
    expect((await attempt({ argv: ["sh", "-c", "rm -rf /"] })).body).toEqual({
      allowed: false,
      rule: "remove_system",
      reason: "The command would remove / with all that is in it.",
      advice,
    });
    expect((await attempt({ command: "reboot", policy: { allowRules: ["power"] } })).body).toEqual({
      allowed: true,
    });
    expect((await attempt({ command: "ls", user: "bob" })).body).toEqual({ allowed: true });
    expect((await attempt({ command: "ls", user: "bob", policy: { users: [] } })).body).toMatchObject({
      rule: "user",
    });
    expect((await attempt({ command: "ls", argv: ["ls"] })).status).toBe(400);
  });

  it.each([
    [{ allowRules: ["nothing"] }, "allowRules[0]", "must be one of the rules: remove_system"],
    [{ roots: [] }, "roots", ">=1"],
    [{ readOnly: "yes" }, "readOnly", "boolean"],
    [{ readonly: true }, "readonly", "unknown field"],
  ])("is not taken as %j", async (body, path, message) => {
    const answer = await service.send("PUT", "/v1/policy", body);
    expect(answer.status).toBe(400);
    expect(answer.body["issues"]).toEqual([
      expect.objectContaining({
        path: expect.stringContaining(path),
        message: expect.stringContaining(message),
      }),
    ]);
  });

  it("lets nothing start where another version has left a policy that this one cannot read", async () => {
    await service.needs.store.policies.setFleet({ policy: { newField: 1 }, updatedAt: new Date() });
    expect(await start("true")).toMatchObject({ status: 503, body: { code: "unavailable" } });
  });

  it("needs a token", async () => {
    const answer = await service.app.request("/v1/policy");
    expect(answer.status).toBe(401);
  });
});
