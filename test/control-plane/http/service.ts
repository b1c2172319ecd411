import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, vi } from "vitest";
import { createApp } from "../../../control-plane/app.ts";
import type { Needs } from "../../../control-plane/needs.ts";
import type { LinkTimes } from "../../../control-plane/link/times.ts";
import { openRig } from "../link/rig.ts";
import { PlayedNode } from "./played-node.ts";

export const token = "the-admin-token";
export const authorized = { authorization: `Bearer ${token}` };

export type Answer = { status: number; headers: Headers; body: Record<string, unknown> };
export type Service = Awaited<ReturnType<typeof openService>>;

/** The whole API over a real database; nodes are played. */
export async function openService(
  { publicUrl = "http://drover.test", ...change }: Partial<Needs> & { publicUrl?: string } = {},
  times: Partial<LinkTimes> = {},
) {
  const rig = await openRig(times);
  const adminTokenHash = createHash("sha256").update(token).digest("hex");
  const needs: Needs = {
    ...rig.needs,
    config: { ...rig.needs.config, adminTokenHash, publicUrl },
    ...change,
  };
  const closing = new AbortController();
  const app = createApp(needs, closing.signal);
  const fetch = async (path: string, init: RequestInit = {}): Promise<Response> =>
    app.request(path, { ...init, headers: { ...authorized, ...(init.headers as Record<string, string>) } });
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const json: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    const answer = await fetch(path, {
      method,
      headers: { ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === "" ? {} : JSON.parse(text) };
  };
  return {
    rig,
    needs,
    app,
    fetch,
    closing,
    get: (path: string, headers?: Record<string, string>) => send("GET", path, undefined, headers),
    post: (path: string, body?: unknown, headers?: Record<string, string>) =>
      send("POST", path, body, headers),
    send,
    /** A node that is online and takes starts. */
    async node() {
      const { id } = await rig.node();
      const played = new PlayedNode(rig.link, id);
      await played.connect();
      await vi.waitFor(() => expect(rig.hub.free(id)).toBeGreaterThan(0), { interval: 5 });
      return { id, played };
    },
    close: () => rig.close(),
  };
}

/** The API for all tests of a block, and a node for each of them; both are filled in before it begins. */
export function useService(change: Parameters<typeof openService>[0] = {}) {
  const service = {} as Service;
  const node = {} as Awaited<ReturnType<Service["node"]>>;
  beforeAll(async () => void Object.assign(service, await openService(change)));
  beforeEach(async () => void Object.assign(node, await service.node()));
  afterAll(() => service.close());
  return {
    service,
    node,
    /** The id of a process that runs on the node. */
    async started(body: object = {}): Promise<string> {
      const answer = await service.post("/v1/processes", { node: node.id, command: "x", ...body });
      const id = String(answer.body["id"]);
      await service.rig.until(id, (row) => row.status === "running");
      return id;
    },
  };
}
