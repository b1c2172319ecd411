import { withoutTokens } from "#shared/secret-text.ts";

/**
 * What the audit keeps of a body, and nothing else of it: these fields by name, wherever a route has them. Whoever adds one here says
 * that no value of this name is ever secret. Values of env, the text of stdin and secrets have no place in it.
 */
const kept = new Set([
  ...["command", "argv", "script", "shell", "cwd", "user", "node", "chatId", "key", "ifOffline"],
  ...["signal", "scope", "graceMs", "timeoutMs", "idleTimeoutMs", "eof", "reason", "deadlineMs", "ttlMs"],
  ...["name", "nodeName", "labels", "allowLabels", "replace", "maxUses", "maxProcesses", "role", "expiresAt"],
  ...["selector", "process", "parallel", "staggerMs", "canary", "maxFailures", "expiresMs"],
  ...["allowRules", "refusePrograms", "allowPrograms", "roots", "users", "readOnly", "limits"],
]);

/** The characters of all that is kept of one body. */
const maxChars = 8192;
const maxItems = 200;

/** The plain part of a body, cut to a bound; what was cut ends in `…`. Tokens of Drover in it are hidden. */
export const auditInput = (body: unknown): Record<string, unknown> => {
  const room = { chars: maxChars };
  return fieldsOf(body, room, (name) => kept.has(name));
};

type Room = { chars: number };

const fieldsOf = (value: unknown, room: Room, isKept: (name: string) => boolean): Record<string, unknown> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const fields = Object.entries(value).filter(([name]) => isKept(name));
  return Object.fromEntries(
    fields.slice(0, maxItems).map(([name, inner]) => [cut(name, room), plain(name, inner, room)]),
  );
};

const plain = (name: string, value: unknown, room: Room): unknown => {
  if (typeof value === "string") return cut(withoutTokens(value), room);
  if (Array.isArray(value)) return itemsOf(name, value, room);
  // A start within another body has fields of both kinds, such as env; other objects are plain maps.
  if (typeof value === "object" && value !== null)
    return fieldsOf(value, room, (inner) => name !== "process" || kept.has(inner));
  return value;
};

const itemsOf = (name: string, values: unknown[], room: Room): unknown[] => {
  const items: unknown[] = [];
  for (const value of values) {
    if (items.length === maxItems || room.chars === 0) return [...items, "…"];
    items.push(plain(name, value, room));
  }
  return items;
};

const cut = (text: string, room: Room): string => {
  const short = text.slice(0, room.chars);
  room.chars -= short.length;
  return short.length === text.length ? text : `${short.toWellFormed()}…`;
};
