import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import type { Link } from "../../control-plane/link/link.ts";
import { PlayedNode } from "../control-plane/http/played-node.ts";
import { FarEnd } from "../control-plane/link/far-end.ts";
import type { Product } from "../support/product.ts";

type Accept = Pick<Link, "accept">;

/** The link as an agent reaches it over the network: what it accepts is a WebSocket with this key of the node. */
export const wireTo = (url: string, key: string): Accept => ({
  accept(nodeId, socket) {
    const wire = new WebSocket(`${url.replace("http", "ws")}/v1/agent`, {
      headers: { authorization: `Bearer ${nodeId}.${key}` },
    });
    const opened = once(wire, "open");
    // One that is refused is told by its close.
    const say = (data: string | Buffer): void => void opened.then(() => wire.send(data)).catch(() => {});
    // `ws` gives a Buffer unless it is told to give something else.
    wire.on("message", (data) => socket.send((data as Buffer).toString()));
    // Every error is followed by `close`.
    wire.on("error", () => {});
    wire.on("close", (code, reason) => socket.close(code, reason.toString()));
    return { onText: say, onBinary: () => say(Buffer.of(1)), onClose: () => wire.terminate() };
  },
});

export type Enrolled = { nodeId: string; name: string; key: string; link: Accept };

/** A node without an agent, and its key. */
export async function enrolled(product: Product, name: string): Promise<Enrolled> {
  const { token } = await product.api.get<{ token: string }>("POST /v1/join-tokens", { body: {} });
  const key = randomBytes(32).toString("base64url");
  const { nodeId } = await product.api.get<{ nodeId: string }>("POST /v1/enroll", {
    token: null,
    body: { joinToken: token, name, keyHash: hashOf(key) },
  });
  return { nodeId, name, key, link: wireTo(product.api.url, key) };
}

export const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");

/** A node whose agent a test plays frame by frame; it has said hello and is welcome. */
export async function farEnd(product: Product, name: string): Promise<Enrolled & { agent: FarEnd }> {
  const node = await enrolled(product, name);
  const agent = new FarEnd(node.link, node.nodeId);
  agent.hello();
  await agent.next("welcome");
  return { ...node, agent };
}

/** A node whose processes a test plays; it is online. */
export async function playedNode(product: Product, name: string): Promise<Enrolled & { played: PlayedNode }> {
  const node = await enrolled(product, name);
  const played = new PlayedNode(node.link, node.nodeId);
  await played.connect();
  await product.status(name, "online");
  return { ...node, played };
}

/** The status that an upgrade is answered with; 101 when it is opened. */
export const upgrade = (
  product: Product,
  path: string,
  authorization?: string,
  more: Record<string, string> = {},
): Promise<number> =>
  new Promise((resolve) => {
    const headers = { ...more, ...(authorization === undefined ? {} : { authorization }) };
    const socket = new WebSocket(`${product.api.url.replace("http", "ws")}${path}`, { headers });
    socket.once("unexpected-response", (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    socket.once("open", () => {
      resolve(101);
      socket.terminate();
    });
    socket.on("error", () => {});
  });
