import type { ProcessView } from "#shared/api/process.ts";
import type { Caller } from "./client.ts";
import type { Stream } from "./commands.ts";
import type { Fleet } from "./fleet.ts";
import type { Followed } from "./follower.ts";
import type { Start } from "./load.ts";

export type Heard = { followers: number; bytesFollowed: number; interruptions: number };

type Look = { fleet: Fleet; caller: Caller; starts: Start[]; signal: AbortSignal };
type Rows = Map<string, ProcessView>;

const readersAtOnce = 8;

/** Whether all that it would write is there: nobody ended it early, and it is known that it ran. */
const isWhole = (row: ProcessView): boolean => row.status === "exited";

/** Every follower has heard each byte once, in order, the ending and the end. */
export async function checkFollowed({ fleet, starts }: Look, rows: Rows, heard: Heard): Promise<void> {
  for (const start of starts) {
    const row = rows.get(start.id ?? "");
    if (start.followed === undefined || row === undefined) continue;
    const followed = await start.followed;
    heard.followers += 1;
    heard.bytesFollowed += followed.bytes;
    heard.interruptions += followed.interruptions;
    for (const why of faultsOf(followed, start, row))
      fleet.findings.add(
        "follower",
        `${start.command.kind} ${start.n} ${row.id}: ${why}; ${JSON.stringify(row)}`,
      );
  }
}

function faultsOf(followed: Followed, { command }: Start, row: ProcessView): string[] {
  const faults = [...followed.faults];
  if (!followed.ended) faults.push("no end");
  if (followed.exit === undefined) faults.push("no exit");
  // An ending that was not known when the follower was told may have come to light since.
  else if (followed.exit.status !== row.status && followed.exit.status !== "lost")
    faults.push(`it heard of another ending: ${JSON.stringify(followed.exit)}`);
  // One that was called lost before its node came back was told the bytes that were known by then.
  if (!isWhole(row) || followed.exit?.status === "lost") return faults;
  for (const [stream, bytes] of Object.entries(command.output(row.id)) as [Stream, Buffer][])
    if ((followed.reached[stream] ?? 0) !== bytes.length)
      faults.push(`${stream} ended at ${followed.reached[stream] ?? 0} of ${bytes.length}`);
  return faults;
}

/** Reads the raw output of every process that ran and compares it; says how many bytes that were. */
export async function checkRead(look: Look, rows: Rows): Promise<number> {
  const queue = look.starts.filter(({ id }) => id !== undefined && rows.has(id));
  let bytes = 0;
  const reader = async (): Promise<void> => {
    for (let start = queue.pop(); start !== undefined; start = queue.pop()) {
      const row = rows.get(start.id ?? "");
      if (row === undefined || row.startedAt === null) continue;
      for (const [stream, expected] of Object.entries(start.command.output(row.id)) as [Stream, Buffer][])
        bytes += await checkStream(look, { start, row, stream, expected });
    }
  };
  await Promise.all(Array.from({ length: readersAtOnce }, reader));
  return bytes;
}

type Reading = { start: Start; row: ProcessView; stream: Stream; expected: Buffer };

async function checkStream(look: Look, { start, row, stream, expected }: Reading): Promise<number> {
  const read = await rawOutput(look, row.id, stream);
  const isRight = isWhole(row) ? read?.equals(expected) : read?.equals(expected.subarray(0, read.length));
  if (isRight !== true)
    look.fleet.findings.add(
      "output",
      `${start.command.kind} ${start.n} ${row.id}: ${stream} has ${read?.length} bytes of ${expected.length}: ${read?.toString().slice(0, 200)}; ${JSON.stringify(row)}`,
    );
  return read?.length ?? 0;
}

async function rawOutput({ caller, signal }: Look, id: string, stream: Stream): Promise<Buffer | undefined> {
  const query = `format=raw&stream=${stream}`;
  for (let tries = 0; tries < 3; tries++) {
    const opened = await caller.client.open(`/v1/processes/${id}/output?${query}`, { signal });
    if (opened.ok) return Buffer.from(await opened.value.arrayBuffer());
  }
  return undefined;
}
