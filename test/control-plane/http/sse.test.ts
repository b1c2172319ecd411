import { describe, expect, it, vi } from "vitest";
import { eventStream, type SseEvent, type SseSource } from "../../../control-plane/http/sse.ts";

const times = { pingEveryMs: 20, stuckAfterMs: 50 };
const decoder = new TextDecoder();

const sourceOf = (events: AsyncGenerator<SseEvent, void>): SseSource & { aborted: AbortSignal } => {
  const leaving = new AbortController();
  return { events, signal: leaving.signal, aborted: leaving.signal, abort: () => leaving.abort() };
};

async function* silent(): AsyncGenerator<SseEvent, void> {
  await new Promise(() => {});
  yield { id: "never", event: "never", data: {} };
}

async function* counting(): AsyncGenerator<SseEvent, void> {
  for (let at = 1; ; at++) yield { id: `n${at}`, event: "count", data: { at } };
}

async function* failing(): AsyncGenerator<SseEvent, void> {
  yield { id: "n1", event: "count", data: {} };
  throw new Error("gone");
}

describe("a stream of events", () => {
  it("writes id, event and data, one line each", async () => {
    const reader = eventStream(sourceOf(counting()), times).getReader();
    expect(decoder.decode((await reader.read()).value)).toBe('id: n1\nevent: count\ndata: {"at":1}\n\n');
    await reader.cancel();
  });

  it("pings while there is nothing to tell, and a ping moves no resume point", async () => {
    const reader = eventStream(sourceOf(silent()), times).getReader();
    for (let at = 0; at < 2; at++)
      expect(decoder.decode((await reader.read()).value)).toBe("event: ping\ndata: {}\n\n");
    await reader.cancel();
  });

  it("makes no event before it is wanted", async () => {
    const events = counting();
    const next = vi.spyOn(events, "next");
    const reader = eventStream(sourceOf(events), times).getReader();
    expect(next).not.toHaveBeenCalled();
    await reader.read();
    expect(next).toHaveBeenCalledTimes(1);
    await reader.cancel();
  });

  it("ends its source when the reader leaves", async () => {
    const source = sourceOf(silent());
    const reader = eventStream(source, times).getReader();
    await reader.cancel();
    expect(source.aborted.aborted).toBe(true);
  });

  it("lets its source clean up when the reader leaves behind an event and nobody asks for the next", async () => {
    let isClean = false;
    const cleaning = async function* (): AsyncGenerator<SseEvent, void> {
      try {
        yield* counting();
      } finally {
        isClean = true;
      }
    };
    const reader = eventStream(sourceOf(cleaning()), times).getReader();
    await reader.read();
    await reader.cancel();
    await vi.waitFor(() => expect(isClean).toBe(true));
  });

  it("cuts a reader that takes nothing any more", async () => {
    const source = sourceOf(counting());
    const reader = eventStream(source, times).getReader();
    await reader.read();
    await expect(reader.closed).rejects.toThrow("took nothing");
    expect(source.aborted.aborted).toBe(true);
  });

  it("ends without an error when its source fails, so that the client resumes", async () => {
    const source = sourceOf(failing());
    const reader = eventStream(source, times).getReader();
    await reader.read();
    expect(await reader.read()).toMatchObject({ done: true });
    expect(source.aborted.aborted).toBe(true);
  });
});
