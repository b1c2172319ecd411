import type { Verbs } from "./verb.ts";

/** Every verb, in the order of the help; each file is loaded when its verb is called. */
export const verbs: Verbs = {
  up: {
    summary: "try it: a control plane and an agent on this machine",
    load: () => import("./commands/up.ts"),
  },
  serve: { summary: "run the control plane", load: () => import("./commands/serve.ts") },
  agent: {
    summary: "run the agent that makes this machine a node",
    load: () => import("./commands/agent.ts"),
  },
  migrate: { summary: "bring a database up to this version", load: () => import("./commands/migrate.ts") },
  nodes: {
    summary: "list the nodes; drain, lease, label or remove them",
    load: () => import("./commands/nodes.ts"),
  },
  login: { summary: "make a link that signs a browser in", load: () => import("./commands/login.ts") },
  token: { summary: "make, list and revoke tokens", load: () => import("./commands/token.ts") },
  audit: { summary: "show who did what", load: () => import("./commands/audit.ts") },
  policy: { summary: "say what may be started on the fleet", load: () => import("./commands/policy.ts") },
  secrets: {
    summary: "keep what commands need and nobody may read",
    load: () => import("./commands/secrets.ts"),
  },
  events: { summary: "follow nodes as they come, go and change", load: () => import("./commands/events.ts") },
  exec: { summary: "run a command on a node as if it ran here", load: () => import("./commands/exec.ts") },
  run: { summary: "start a process on a node and leave it running", load: () => import("./commands/run.ts") },
  fanout: {
    summary: "run a command on every node that matches",
    load: () => import("./commands/fanout.ts"),
  },
  ps: { summary: "list processes", load: () => import("./commands/ps.ts") },
  logs: { summary: "show what a process wrote", load: () => import("./commands/logs.ts") },
  wait: { summary: "wait for processes to end", load: () => import("./commands/wait.ts") },
  stop: { summary: "end processes: TERM, then KILL", load: () => import("./commands/stop.ts") },
  kill: { summary: "send processes a signal", load: () => import("./commands/kill.ts") },
  send: { summary: "write to the stdin of a process", load: () => import("./commands/send.ts") },
};
