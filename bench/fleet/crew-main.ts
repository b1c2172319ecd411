// A process that plays some thousands of agents. Its parent sends the crew once, then asks for a tally now and then; each
// start that arrives is told at once.

import { SimulatedAgent, type Identity, type Witness } from "./simulated-agent.ts";

export type Order =
  | { type: "board"; host: string; port: number; identities: Identity[]; withinMs: number }
  | { type: "tally" };

/** What happened since the last tally; times are of the machine's monotonic clock. */
export type Tally = {
  live: number;
  attemptsAt: number[];
  liveAt: number[];
  pongMs: number[];
  endings: Record<string, number>;
  /** CPU time of this process since it began. */
  cpuMs: number;
};
export type Told = ({ type: "tally" } & Tally) | { type: "started"; processId: string; atMs: number };

const tell = (told: Told): void => void process.send?.(told);
const agents: SimulatedAgent[] = [];
let since = blank();

function blank(): Pick<Tally, "attemptsAt" | "liveAt" | "pongMs" | "endings"> {
  return { attemptsAt: [], liveAt: [], pongMs: [], endings: {} };
}

const witness: Witness = {
  attempt: (atMs) => void since.attemptsAt.push(atMs),
  live: (atMs) => void since.liveAt.push(atMs),
  gone: (why) => void (since.endings[why] = (since.endings[why] ?? 0) + 1),
  started: (processId, atMs) => tell({ type: "started", processId, atMs }),
  pong: (afterMs) => void since.pongMs.push(afterMs),
};

// Evenly over the time, so that each agent pings in a phase of its own.
function board({ host, port, identities, withinMs }: Extract<Order, { type: "board" }>): void {
  for (const [index, identity] of identities.entries()) {
    const agent = new SimulatedAgent(identity, { host, port }, witness);
    agents.push(agent);
    setTimeout(() => agent.open(), (index * withinMs) / identities.length);
  }
}

function tally(): void {
  const { user, system } = process.cpuUsage();
  const live = agents.filter(({ isLive }) => isLive).length;
  tell({ type: "tally", ...since, live, cpuMs: (user + system) / 1000 });
  since = blank();
}

process.on("message", (order: Order) => (order.type === "board" ? board(order) : tally()));
// A crew does not outlive its bench.
process.on("disconnect", () => process.exit());
