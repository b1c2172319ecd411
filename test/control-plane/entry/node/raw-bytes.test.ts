import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Door } from "../../../../control-plane/entry/door.ts";
import { openDoor } from "../../../../control-plane/entry/node/door.ts";
import { fuzz, fuzzTimeoutMs } from "../../../support/fuzz/runs.ts";
import { openService, type Service, token } from "../../http/service.ts";

const line = fc.oneof(
  fc.constantFrom(
    ...[
      "Host: x",
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Transfer-Encoding: chunked",
      "Content-Length: 5",
    ],
    ...[
      "Content-Length: -1",
      "Expect: 100-continue",
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
    ],
    ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "Content-Encoding: gzip"],
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
);
const first = fc.constantFrom(
  ...[
    "GET /v1/me HTTP/1.1",
    "POST /v1/processes HTTP/1.1",
    "GET /v1/agent HTTP/1.1",
    "GET http://[ HTTP/1.1",
  ],
  ...["GET /%zz HTTP/1.0", "PRI * HTTP/2.0", "CONNECT x:1 HTTP/1.1", "OPTIONS * HTTP/1.1", "GET // HTTP/1.1"],
);
const requests = fc
  .tuple(first, fc.array(line, { maxLength: 6 }), fc.string({ unit: "binary", maxLength: 40 }))
  .map(([head, lines, body]) => Buffer.from([head, ...lines, "", body].join("\r\n")));
const raw = fc.oneof(
  requests,
  requests.map((bytes) => bytes.subarray(0, bytes.length >> 1)),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);

describe("whatever bytes come to the door", { timeout: fuzzTimeoutMs }, () => {
  let service: Service;
  let door: Door;
  beforeAll(async () => {
    service = await openService();
    const { app, rig } = service;
    door = await openDoor(
      { fetch: app.fetch, link: rig.link, log: service.needs.log },
      { host: "127.0.0.1", port: 0 },
    );
  });
  afterAll(async () => {
    await door.close(0);
    await service.close();
  });

  const send = async (bytes: Buffer): Promise<string> => {
    const socket = connect(door.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => (answer += data.toString("latin1"))).on("error", () => {});
    socket.end(bytes);
    await once(socket, "close");
    return answer;
  };

  it("none is answered by a 5xx, and the next request is", async () => {
    await fuzz(raw, {
      runs: 300,
      tryOne: async (bytes) => expect(await send(bytes)).not.toMatch(/^HTTP\/1\.1 5/),
    });
    expect((await fetch(`http://127.0.0.1:${door.port}/healthz`)).status).toBe(200);
    expect(service.rig.lines.filter(({ event }) => /failed|crashed/.test(event))).toEqual([]);
  });
});
