import { createClient } from "../sdk/client.ts";
import { createSignInLink } from "../sdk/sessions.ts";
import type { Profile } from "./profile.ts";

/** A link for the browser of whoever starts a control plane; undefined where none can sign in, as over plain http beyond loopback. */
export async function signInLink(place: Profile): Promise<string | undefined> {
  const link = await createSignInLink(createClient(place));
  return link.ok ? link.value.url : undefined;
}
