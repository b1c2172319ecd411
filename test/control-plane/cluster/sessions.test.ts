import { expect, it } from "vitest";
import { accessIsVoid } from "../../../control-plane/actions/access-watch.ts";
import { principalOfSession } from "../../../control-plane/actions/principal-of-session.ts";
import { signIn } from "../../../control-plane/actions/sign-in.ts";
import { signOut } from "../../../control-plane/actions/sign-out.ts";
import { newId } from "#shared/ids.ts";
import { sha256Hex } from "#shared/secret-text.ts";
import { useTwoControlPlanes } from "./two-control-planes.ts";

const two = useTwoControlPlanes();

it("a session that began at A and is signed out at B lets nobody in at either, and what runs with it at A ends", async () => {
  const made = { name: "person", role: "viewer", scope: {}, createdBy: null, expiresAt: null } as const;
  const hash = await sha256Hex("the token");
  await two.a.store.tokens.create({ ...made, id: newId("tok"), hash, createdAt: new Date() });
  const { secret, principal } = await signIn(two.a.needs, { token: "the token" });
  const cookie = await sha256Hex(secret);
  const seen = await principalOfSession(two.b.needs, cookie);
  expect(seen).toMatchObject({ name: "person", session: principal.session });
  const over = new AbortController();
  const ended = accessIsVoid(two.a.needs, principal, over.signal);
  if (seen !== undefined) await signOut(two.b.needs, seen);
  expect(await ended).toBe(true);
  for (const { needs } of [two.a, two.b]) expect(await principalOfSession(needs, cookie)).toBeUndefined();
});
