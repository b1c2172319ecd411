// What the processes of a storm do. Each says first, in one line of the effects file, that it runs; how it must end and
// what it must have written follow from its kind, its number and its id.
import type { Random } from "./random.ts";

const weights = {
  quick: 10,
  code: 12,
  signal: 8,
  sleeper: 30,
  child: 12,
  stream: 12,
  fed: 8,
  stopped: 14,
  limited: 8,
};
export type Kind = keyof typeof weights;

export type Stream = "merged" | "stdout" | "stderr";
export type Ending = {
  status: string;
  exitCode: number | null;
  signal: string | null;
  reason: string | null;
};

/** What one command is: how it is asked for, and what has to come of it. */
export type Command = {
  kind: Kind;
  /** The fields of the start beside node and key. */
  body: Record<string, unknown>;
  /** The ending of a run that nobody disturbs; any of the killed ones where it is stopped. */
  ending: Partial<Ending>;
  output: (id: string) => Partial<Record<Stream, Buffer>>;
};

type Made = Omit<Command, "kind">;

const signals = ["KILL", "TERM", "HUP", "USR1", "USR2", "SEGV", "ALRM"];

export function makeCommand(random: Random, effects: string, n: number): Command {
  const kind = random.weighted(weights);
  const made = makers[kind](random);
  const says = `echo "$DROVER_PROCESS_ID ${n}" >>'${effects}'; `;
  return { kind, ...made, body: { ...made.body, command: says + String(made.body["command"]) } };
}

const makers: Record<Kind, (random: Random) => Made> = {
  quick: () => ({ body: { command: "true" }, ending: exited(0), output: () => merged("") }),
  code: (random) => {
    const code = random.int(0, 255);
    return { body: { command: `exit ${code}` }, ending: exited(code), output: () => merged("") };
  },
  signal: (random) => {
    const signal = random.pick(signals);
    const command = `echo by ${signal}; kill -s ${signal} $$; sleep 5; exit 98`;
    const ending = { status: "exited", exitCode: null, signal, reason: null };
    return { body: { command }, ending, output: () => merged(`by ${signal}\n`) };
  },
  sleeper: (random) => {
    const [code, s] = [random.int(0, 255), (random.int(20, 100) / 100).toFixed(2)];
    const command = `for i in 1 2 3 4 5; do echo "tick $i of $DROVER_PROCESS_ID"; sleep ${s}; done; exit ${code}`;
    const ticks = (id: string) => [1, 2, 3, 4, 5].map((i) => `tick ${i} of ${id}\n`).join("");
    return { body: { command }, ending: exited(code), output: (id) => merged(ticks(id)) };
  },
  child: (random) => {
    const [code, s] = [random.int(0, 255), (random.int(10, 400) / 100).toFixed(2)];
    const command = `(sleep ${s}; echo "late $DROVER_PROCESS_ID") & echo early; exit ${code}`;
    return { body: { command }, ending: exited(code), output: (id) => merged(`early\nlate ${id}\n`) };
  },
  stream: (random) => {
    const [code, isSplit] = [random.int(0, 255), random.int(0, 1) === 1];
    const command = `for i in 1 2 3 4; do ${seq("$i")}; ${isSplit ? `${seq("e$i")} >&2; ` : ""}sleep 0.2; done; printf '\\377'; exit ${code}`;
    const body = { command, output: isSplit ? "split" : "merged" };
    const out = (id: string) => Buffer.concat([Buffer.from(lines(id, "")), Buffer.of(0xff)]);
    const output = (id: string): Partial<Record<Stream, Buffer>> =>
      isSplit ? { stdout: out(id), stderr: Buffer.from(lines(id, "e")) } : { merged: out(id) };
    return { body, ending: exited(code), output };
  },
  fed: (random) => {
    const [code, secret] = [random.int(0, 255), `secret ${random.int(0, 1e9)}`];
    const text = `${secret}\n`.repeat(random.int(1, 500));
    const body = { command: `cat; echo "$SECRET"; exit ${code}`, env: { SECRET: secret }, stdin: { text } };
    return { body, ending: exited(code), output: () => merged(`${text}${secret}\n`) };
  },
  stopped: (random) => {
    const command = random.pick(["sleep 90", "trap '' TERM; sleep 90", "sleep 90 & sleep 90 & wait"]);
    const body = { command: `echo up; ${command}; exit 99`, graceMs: random.pick([0, 300, 1000]) };
    return { body, ending: { status: "killed", reason: "stopped" }, output: () => merged("up\n") };
  },
  limited: (random) => {
    const body = { command: "echo up; sleep 90; exit 99", timeoutMs: random.int(300, 3000), graceMs: 300 };
    return {
      body,
      ending: { status: "timed_out", reason: "hard_timeout" },
      output: () => merged("up\n"),
    };
  },
};

const exited = (exitCode: number): Ending => ({ status: "exited", exitCode, signal: null, reason: null });
const merged = (text: string) => ({ merged: Buffer.from(text) });

// Code points of 2, 3 and 4 bytes, so that chunks cut some of them.
const tail = `é€𝄞 ${"x".repeat(40)}`;
const linesEach = 280;
const seq = (round: string): string => `seq -f "$DROVER_PROCESS_ID ${round} %05.0f ${tail}" 1 ${linesEach}`;
const lines = (id: string, mark: string): string =>
  [1, 2, 3, 4]
    .flatMap((round) =>
      Array.from(
        { length: linesEach },
        (_, n) => `${id} ${mark}${round} ${String(n + 1).padStart(5, "0")} ${tail}\n`,
      ),
    )
    .join("");
