import type { JoinTokenBody } from "#shared/api/node.ts";
import { newId } from "#shared/ids.ts";
import type { Needs } from "../needs.ts";
import { newSecret, sha256Hex } from "#shared/secret-text.ts";

/** A join token as its maker sees it; `token` is known only at this moment. */
export type MadeJoinToken = { id: string; token: string; expiresAt: Date };

/** Makes a join token; only its hash is stored. */
export const makeJoinToken = async (
  needs: Needs,
  body: JoinTokenBody,
  id = newId("tok"),
): Promise<MadeJoinToken> => {
  const token = newSecret("drvj");
  const now = needs.now();
  const expiresAt = new Date(now.getTime() + body.ttlMs);
  await needs.store.joinTokens.create({
    ...body,
    id,
    hash: await sha256Hex(token),
    createdAt: now,
    expiresAt,
    uses: 0,
  });
  needs.log.info("join_token.created", { tokenId: id, maxUses: body.maxUses });
  return { id, token, expiresAt };
};

/** The one line that starts an agent; without the token it reads it from the environment. */
export const joinCommand = (needs: Needs, token: string | undefined, nodeName: string | undefined): string =>
  [
    `npx drover agent --url ${needs.config.publicUrl} --token ${token ?? '"$DROVER_JOIN_TOKEN"'}`,
    ...(nodeName === undefined ? [] : [`--name ${nodeName}`]),
  ].join(" ");
