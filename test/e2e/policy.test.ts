import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { useProduct } from "../support/product.ts";

const product = useProduct({ agents: ["n1", "n2"] });
const file = (): string => join(product.agents.get("n1")?.dataDir ?? "", "policy.json");
const exec = async (node: string, command: string, more: object = {}) => {
  const body = { node, command, ...more };
  const { status, value } = await product.api.api<Record<string, unknown>>("POST /v1/processes", {
    query: { waitMs: 30_000 },
    body,
  });
  return { http: status, ...value };
};

describe("the policy file of a node", () => {
  afterEach(() => rmSync(file(), { force: true }));

  it("refuses what the fleet allows, on this node only, and says why in the record", async () => {
    writeFileSync(file(), JSON.stringify({ refusePrograms: ["hostname"] }));
    expect(await exec("n1", "hostname")).toMatchObject({
      http: 201,
      status: "failed",
      reason: "command_refused",
      exitCode: null,
      detail: expect.stringMatching(/runs hostname.*rule program/),
    });
    expect(await exec("n2", "echo on")).toMatchObject({ status: "exited", exitCode: 0 });
    expect(await exec("n1", "echo on")).toMatchObject({ status: "exited", exitCode: 0 });
  });

  it("refuses every start while it is broken, and names the fault", async () => {
    writeFileSync(file(), "{ readOnly: true }");
    const { status, reason, detail } = (await exec("n1", "true")) as Record<string, unknown>;
    expect({ status, reason }).toEqual({ status: "failed", reason: "command_refused" });
    expect(detail).toContain(file());
    rmSync(file());
    expect(await exec("n1", "true")).toMatchObject({ status: "exited" });
  });
});

it.runIf(process.getuid?.() === 0)(
  "runs a command as a user whom the node's policy lists, and as no other (skipped where the tests do not run as root)",
  async () => {
    const user = "nobody";
    expect(await exec("n1", "id -un", { user })).toMatchObject({
      http: 201,
      status: "failed",
      reason: "command_refused",
      detail: expect.stringContaining("rule user"),
    });
    writeFileSync(file(), JSON.stringify({ users: [user] }));
    expect(await exec("n1", "id -un; echo $HOME $DROVER_NODE; exit 3", { user, cwd: "/" })).toMatchObject({
      status: "exited",
      exitCode: 3,
      result: { text: expect.stringMatching(/^nobody\n\S+ n1\n$/) },
    });
    rmSync(file());
  },
);

describe("the policy of the fleet", () => {
  it("holds for the next start everywhere once it is set", async () => {
    const set = (body: object) => product.api.api("PUT /v1/policy", { body });
    expect((await set({ roots: ["/srv"] })).status).toBe(200);
    expect(await exec("n2", "true")).toMatchObject({ http: 422, code: "command_refused", rule: "folder" });
    expect((await set({})).status).toBe(200);
    expect(await exec("n2", "true")).toMatchObject({ http: 201, status: "exited" });
  });
});
