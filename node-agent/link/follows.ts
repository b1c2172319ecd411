import type { DownFrame } from "#shared/link/frames.ts";
import { windowBytes } from "#shared/link/limits.ts";
import type { Engine, FollowedChunk, Follower } from "../engine.ts";
import type { AgentSocket } from "./socket.ts";
import { base64 } from "../base64.ts";

/**
 * The streams that are followed on one socket.
 *
 * Each has a window: bytes sent beyond the last credit stay below `windowBytes`, then its follower pauses until credit
 * comes, so one slow reader holds up nothing but itself. A chunk handed over is always taken; the answer `false` means
 * "no more now". Bytes seen before (a chunk handed over again) are not sent twice.
 */
export interface Follows {
  follow(frame: Extract<DownFrame, { type: "follow" }>): void;
  unfollow(follow: string): void;
  credit(follow: string, to: number): void;
  /** A process is there now: those that were asked to follow it before begin. */
  arrived(id: string): void;
  close(): void;
}

type Follow = {
  frame: Extract<DownFrame, { type: "follow" }>;
  sentTo: number;
  creditedTo: number;
  follower: Follower | undefined;
};

const maxFollows = 10_000;

export function createFollows(engine: Pick<Engine, "follow">, socket: AgentSocket): Follows {
  const follows = new Map<string, Follow>();
  const begin = (follow: Follow): void => {
    const { id, stream, from } = follow.frame;
    follow.follower = engine.follow(id, stream, from, (chunk) => {
      pass(socket, follow, chunk);
      return hasRoom(follow);
    });
  };
  const end = (name: string): void => {
    follows.get(name)?.follower?.close();
    follows.delete(name);
  };
  return {
    follow: (frame) => {
      end(frame.follow);
      if (follows.size >= maxFollows) return;
      const follow: Follow = { frame, sentTo: frame.from, creditedTo: frame.from, follower: undefined };
      follows.set(frame.follow, follow);
      begin(follow);
    },
    unfollow: end,
    credit: (name, to) => {
      const follow = follows.get(name);
      if (follow === undefined) return;
      const wasFull = !hasRoom(follow);
      follow.creditedTo = Math.max(follow.creditedTo, Math.min(to, follow.sentTo));
      if (wasFull && hasRoom(follow)) follow.follower?.resume();
    },
    arrived: (id) => {
      for (const follow of follows.values())
        if (follow.follower === undefined && follow.frame.id === id) begin(follow);
    },
    close: () => {
      for (const name of [...follows.keys()]) end(name);
    },
  };
}

const hasRoom = (follow: Follow): boolean => follow.sentTo - follow.creditedTo < windowBytes;

function pass(socket: AgentSocket, follow: Follow, { from, to, bytes }: FollowedChunk): void {
  if (to <= follow.sentTo) return;
  const skipped = Math.max(0, follow.sentTo - from);
  const frame = { type: "output", follow: follow.frame.follow, from: from + skipped, to } as const;
  follow.sentTo = to;
  socket.send(bytes === null ? { ...frame, gap: true } : { ...frame, b64: base64(bytes.subarray(skipped)) });
}
