import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FileFollower } from "../../../node-agent/process/follower.ts";
import { waitFor, type WaitNeeds, type WaitRequest } from "../../../node-agent/process/wait.ts";
import { type StreamFolder, streamFolder } from "./stream-folder.ts";

let stream: StreamFolder;
let ended: AbortController;
let followers: number;
beforeEach(() => {
  stream = streamFolder();
  ended = new AbortController();
  followers = 0;
});
afterEach(() => {
  ended.abort();
  stream.remove();
});

/** Waits on the stream of the test, followed by the agent's own follower. */
const wait = (request: Partial<WaitRequest>, needs: Partial<WaitNeeds> = {}) =>
  waitFor(
    { folder: stream.folder, stream: "merged", waitMs: 50_000, ...request },
    {
      follow: (name, from, onChunk) => {
        const follower = new FileFollower(stream.folder, name, from, onChunk);
        followers++;
        let open = true;
        return {
          resume: () => follower.resume(),
          close: () => {
            if (open) followers--;
            open = false;
            follower.close();
          },
        };
      },
      membersOf: () => [process.pid],
      ended: ended.signal,
      signal: new AbortController().signal,
      ...needs,
    },
  );

/** Gives what was started time to look before something happens; either order must do. */
const settled = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 50));

const none = { value: { met: null } };

describe.each([false, true])("a pattern (expression: %s)", (regex) => {
  const ready = { text: "ready", regex };

  test("that is already there is met at once", async () => {
    stream.write("starting\nready on 1\nmore\n");
    expect(await wait({ pattern: ready })).toEqual({
      value: { met: "pattern", match: { from: 9, to: 19, text: "ready on 1" } },
    });
  });

  test("is met when it is written later", async () => {
    stream.write("starting\n");
    const answer = wait({ pattern: ready });
    await settled();
    stream.write("ready\n");
    expect(await answer).toMatchObject({ value: { met: "pattern", match: { from: 9, to: 14 } } });
    expect(followers).toBe(0);
  });

  test("is met when it is written in parts, and without a newline", async () => {
    const answer = wait({ pattern: ready });
    for (const part of ["x\nnot ", "re", "a", "d", "y"]) {
      await settled();
      stream.write(part);
    }
    expect(await answer).toEqual({
      value: { met: "pattern", match: { from: 2, to: 11, text: "not ready" } },
    });
  });

  test("is met behind a flood of output", async () => {
    const answer = wait({ pattern: ready });
    const flood = "y\n".repeat(100_000);
    for (let n = 0; n < 50; n++) {
      stream.write(flood);
      await new Promise(setImmediate);
    }
    stream.write("ready\n");
    expect(await answer).toMatchObject({ value: { met: "pattern", match: { from: 10_000_000 } } });
  });

  test("is met by the last words of a process", async () => {
    const answer = wait({ pattern: ready });
    await settled();
    stream.write("ready");
    ended.abort();
    expect(await answer).toMatchObject({ value: { met: "pattern" } });
  });

  test("is not met by a process that ends without saying it", async () => {
    const answer = wait({ pattern: ready });
    await settled();
    ended.abort();
    expect(await answer).toEqual(none);
    expect(await wait({ pattern: ready })).toEqual(none);
  });
});

test("a wrong expression is refused", async () => {
  expect(await wait({ pattern: { text: "(", regex: true } })).toMatchObject({
    error: { code: "invalid_request" },
  });
});

test("without time, what is there is looked at all the same", async () => {
  stream.write("ready\n");
  expect(await wait({ pattern: { text: "ready", regex: true }, waitMs: 0 })).toMatchObject({
    value: { met: "pattern" },
  });
  expect(await wait({ pattern: { text: "steady", regex: false }, waitMs: 0 })).toEqual(none);
});

test("nothing is met when the time runs out", async () => {
  expect(
    await wait({ pattern: { text: "ready", regex: false }, port: 1, quietMs: 60_000, waitMs: 300 }),
  ).toEqual(none);
});

test("an asker that goes away ends the wait", async () => {
  const asker = new AbortController();
  const answer = wait(
    { pattern: { text: "ready", regex: true }, anyPort: false, quietMs: 60_000 },
    { signal: asker.signal },
  );
  await settled();
  asker.abort();
  expect(await answer).toEqual(none);
});

test("a wait for nothing ends with the process, and follows nothing any more", async () => {
  const answer = wait({});
  expect(followers).toBe(1);
  await settled();
  ended.abort();
  expect(await answer).toEqual(none);
  expect(followers).toBe(0);
});

test("a port is met when a member listens on it", async () => {
  const server = createServer();
  let asked = 0;
  const members = () => {
    asked++;
    return [process.pid];
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  const answer = wait({ port }, { membersOf: members });
  await expect.poll(() => asked).toBeGreaterThan(1);
  server.listen(port, "127.0.0.1");
  expect(await answer).toEqual({ value: { met: "port", port } });
  expect(await wait({ anyPort: true })).toMatchObject({ value: { met: "port" } });
  server.close();
});

test("a port of a process that is no member does not count", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  expect(await wait({ anyPort: true, waitMs: 400 }, { membersOf: () => [] })).toEqual(none);
  server.close();
});

test("quiet is met once nothing was written for so long", async () => {
  let [lastMs, metMs] = [0, 0];
  const answer = wait({ quietMs: 400 }).finally(() => (metMs = performance.now()));
  for (let n = 0; n < 6 && metMs === 0; n++) {
    stream.write("x");
    lastMs = performance.now();
    await new Promise((resolve) => void setTimeout(resolve, 150));
  }
  expect(await answer).toEqual({ value: { met: "quiet" } });
  expect(metMs - lastMs).toBeGreaterThan(390);
});
