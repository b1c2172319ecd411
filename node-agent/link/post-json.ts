import http from "node:http";
import https from "node:https";
import { reasonOf } from "../log.ts";

/** An answer (its body undefined unless it is JSON), or why there is none. */
export type Posted = { status: number; body: unknown } | { unreachable: string };

const withinMs = 15_000;
const maxAnswerBytes = 256 * 1024;

/**
 * Posts JSON and reads a JSON answer, within 15 s. Rejects only when `signal` aborts.
 * By node:http, since fetch would cost an agent several MB for a request it makes once.
 */
export async function postJson(url: string, value: unknown, signal: AbortSignal): Promise<Posted> {
  const limit = AbortSignal.timeout(withinMs);
  try {
    return await post(url, JSON.stringify(value), AbortSignal.any([signal, limit]));
  } catch (error) {
    signal.throwIfAborted();
    return { unreachable: limit.aborted ? `no answer within ${withinMs / 1000} s` : reasonOf(error) };
  }
}

function post(url: string, body: string, signal: AbortSignal): Promise<Posted> {
  const { request } = url.startsWith("https:") ? https : http;
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers, signal, agent: false }, (response) => {
      answerOf(response).then(resolve, reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function answerOf(response: http.IncomingMessage): Promise<Posted> {
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) {
    text += String(part);
    if (text.length > maxAnswerBytes) break;
  }
  return { status: response.statusCode ?? 0, body: json(text) };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's page, for example: the status says enough.
    return undefined;
  }
}
