import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeToken } from "../../../control-plane/actions/make-token.ts";
import { revokeToken } from "../../../control-plane/actions/revoke-token.ts";
import { createApp } from "../../../control-plane/app.ts";
import type { Principal } from "../../../control-plane/principal.ts";
import { newId } from "#shared/ids.ts";
import { Reader } from "../http/stream-reader.ts";
import { openRigs } from "../link/rig.ts";

const root: Principal = {
  ...{ kind: "root", tokenId: null, name: "admin", role: "admin", scope: {}, expiresAt: null, tokenHash: "" },
  session: null,
};

describe("a token that is revoked at one control plane", () => {
  let rigs: Awaited<ReturnType<typeof openRigs>>;
  beforeAll(async () => {
    rigs = await openRigs();
  });
  afterAll(() => rigs.close());

  it("lets nobody in at another one from then on, and ends what streams there", async () => {
    const app = createApp(rigs.a.needs);
    const body = { name: "x", role: "viewer" as const, scope: {} };
    const { id, token } = await makeToken(rigs.b.needs, root, body, newId("tok"));
    const headers = { authorization: `Bearer ${token}` };
    const status = async () => (await app.request("/v1/me", { headers })).status;
    expect(await status()).toBe(200);
    const stream = new Reader(await app.request("/v1/events", { headers }));
    expect(await stream.next()).toMatchObject({ event: "begin" });
    await revokeToken(rigs.b.needs, root, id);
    expect(await status()).toBe(401);
    await stream.rest();
  });
});
