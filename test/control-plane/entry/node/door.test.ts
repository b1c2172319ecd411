import { request as send } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import type { Door } from "../../../../control-plane/entry/door.ts";
import { openDoor } from "../../../../control-plane/entry/node/door.ts";

const nothing = () => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing, hide: nothing };
const link = {
  authorize: () => Promise.resolve(undefined),
  accept: () => {
    throw new Error("nobody is let in");
  },
};

describe("the door on Node", () => {
  let door: Door | undefined;
  afterEach(async () => door?.close(0));

  const seen = async (trustedProxies: string | undefined): Promise<string> => {
    const fetch = (_request: Request, env?: { address?: string }) => new Response(env?.address);
    door = await openDoor({ fetch, link, log }, { host: "127.0.0.1", port: 0, trustedProxies });
    const answer = await globalThis.fetch(`http://127.0.0.1:${door.port}/`, {
      headers: { "x-forwarded-for": "203.0.113.1, 192.0.2.7" },
    });
    return answer.text();
  };

  it("says who is at the other end, or who a trusted proxy says is", async () => {
    expect(await seen(undefined)).toBe("127.0.0.1");
    await door?.close(0);
    expect(await seen("127.0.0.0/8")).toBe("192.0.2.7");
  });

  it("refuses a list of proxies that is none before it listens", async () => {
    await expect(seen("proxy.example")).rejects.toThrow(/DROVER_TRUSTED_PROXIES/);
  });

  it.each([
    ["431 for headers that are too large", { "x-large": "x".repeat(20_000) }, 431, "headers_too_large"],
    ["400 for what is no HTTP", { "content-length": "many" }, 400, "invalid_request"],
  ])("answers %s as a problem", async (_title, headers, status, code) => {
    await seen(undefined);
    const answer = await answered(door?.port ?? 0, headers);
    expect(answer).toMatchObject({ status, type: "application/problem+json" });
    expect(JSON.parse(answer.text)).toMatchObject({ status, code });
  });
});

type Answered = { status: number | undefined; type: string | undefined; text: string };

const answered = (port: number, headers: Record<string, string>): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const request = send({ port, host: "127.0.0.1", headers }, (response) => {
      let text = "";
      response.on("data", (data) => (text += String(data)));
      response.on("end", () =>
        resolve({ status: response.statusCode, type: response.headers["content-type"], text }),
      );
    });
    request.on("error", reject);
    request.end();
  });
