// The least of RFC 6455 that a client of Drover's link needs, over a plain socket: a fleet of simulated agents must cost
// far less than what it measures.

import { randomBytes } from "node:crypto";

const text = 1;
const closing = 8;

/** The request that opens a WebSocket. */
export const upgradeRequest = (host: string, authorization: string): string =>
  [
    "GET /v1/agent HTTP/1.1",
    `Host: ${host}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    "Sec-WebSocket-Version: 13",
    `Authorization: ${authorization}`,
    "",
    "",
  ].join("\r\n");

/** A text frame under the mask zero, which leaves the bytes as they are. */
export function textFrame(payload: string): Buffer {
  const length = Buffer.byteLength(payload);
  const header = headerFor(length);
  const frame = Buffer.allocUnsafe(header.length + length);
  header.copy(frame);
  frame.write(payload, header.length);
  return frame;
}

function headerFor(length: number): Buffer {
  const first = 0x80 | text;
  const masked = 0x80;
  if (length < 126) return Buffer.from([first, masked | length, 0, 0, 0, 0]);
  if (length < 65_536) return Buffer.from([first, masked | 126, length >> 8, length & 255, 0, 0, 0, 0]);
  const header = Buffer.alloc(14);
  header.set([first, masked | 127]);
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

/** What a server said: the status of its answer to the upgrade, then texts, at the end perhaps a close code. */
export type Heard = { status: number } | { text: string } | { close: number };

/** Takes bytes as they come and answers what is complete in them. */
export class Reader {
  #rest: Buffer | undefined;
  #isOpen = false;

  *take(bytes: Buffer): Generator<Heard> {
    let left = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#rest = undefined;
    while (left.length > 0) {
      const found = this.#isOpen ? frameIn(left) : answerIn(left);
      if (found === undefined) break;
      left = left.subarray(found.size);
      this.#isOpen = true;
      if (found.heard !== undefined) yield found.heard;
    }
    // A copy: the slab that it lies in would be kept for a few bytes.
    if (left.length > 0) this.#rest = Buffer.from(left);
  }
}

type Found = { size: number; heard: Heard | undefined };

function answerIn(bytes: Buffer): Found | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  return { size: end + 4, heard: { status: Number(bytes.toString("latin1", 9, 12)) } };
}

function frameIn(bytes: Buffer): Found | undefined {
  const body = bodyOf(bytes);
  if (body === undefined || bytes.length < body.to) return undefined;
  return { size: body.to, heard: heardIn((bytes[0] ?? 0) & 15, bytes.subarray(body.from, body.to)) };
}

function heardIn(opcode: number, body: Buffer): Heard | undefined {
  if (opcode === text) return { text: body.toString() };
  return opcode === closing ? { close: body.length >= 2 ? body.readUInt16BE(0) : 1005 } : undefined;
}

function bodyOf(bytes: Buffer): { from: number; to: number } | undefined {
  const short = (bytes[1] ?? 0) & 127;
  const from = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < from) return undefined;
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  return { from, to: from + length };
}
