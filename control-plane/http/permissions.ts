// Who may call what: route × role × scope, in this table and nowhere else. A route that is not in it cannot be written, since
// its operationId is a key of it; that everything in it is held, test/control-plane/http/authorization.test.ts walks through.
//
// The order: a token that is not good is 401, a body too large 413, a shape that is wrong 400, and only then this: what a role or a
// scope may not do is 403, what it may not see is 404, the same as what is not there.

import { roles, type Role, type TokenScope } from "#shared/api/token.ts";
import { DroverError } from "#shared/errors.ts";
import type { Principal } from "../principal.ts";

/**
 * What a scope means to a route. `any`: nothing, it is the same for all. `within`: it shows and touches only what lies in the scope.
 * `hidden`: whatever it names is out of sight, 404. `refused`: it is about more than the scope, 403.
 */
type Reach = "any" | "within" | "hidden" | "refused";

type Permission = {
  /** The least role. */
  role: Role;
  /** For a token with a selector. */
  selector: Reach;
  /** For a token that is confined to a chat or to tasks. */
  confined: Reach;
};

const row = (role: Role, selector: Reach, confined: Reach): Permission => ({ role, selector, confined });

/** Needs no token. */
const open = "open";

export const permissions = {
  //                       role       selector   chat, tasks
  isAlive: open,
  isReady: open,
  describeApi: open,
  readDocs: open,
  enrollNode: open,
  signIn: open,
  signInByProvider: open,
  returnFromProvider: open,

  whoAmI: row("viewer", "any", "any"),
  signOut: row("viewer", "any", "any"),
  createSignInLink: row("viewer", "any", "any"),
  createToken: row("admin", "within", "within"),
  listTokens: row("admin", "within", "within"),
  revokeToken: row("admin", "within", "within"),
  createJoinToken: row("admin", "refused", "refused"),
  listAudit: row("admin", "refused", "refused"),

  getPolicy: row("viewer", "any", "refused"),
  setPolicy: row("admin", "refused", "refused"),
  tryPolicy: row("viewer", "any", "any"),

  listNodes: row("viewer", "within", "refused"),
  getNode: row("viewer", "within", "hidden"),
  changeNode: row("admin", "within", "hidden"),
  deleteNode: row("admin", "within", "hidden"),
  drainNode: row("admin", "within", "hidden"),
  resumeNode: row("admin", "within", "hidden"),
  leaseNode: row("admin", "within", "hidden"),
  releaseNode: row("admin", "within", "hidden"),
  rotateNodeKey: row("admin", "within", "hidden"),

  listProcesses: row("viewer", "within", "within"),
  getProcess: row("viewer", "within", "within"),
  waitForProcess: row("viewer", "within", "within"),
  readOutput: row("viewer", "within", "within"),
  followProcess: row("viewer", "within", "within"),
  listPorts: row("viewer", "within", "within"),
  startProcess: row("operator", "within", "within"),
  cancelProcess: row("operator", "within", "within"),
  signalProcess: row("operator", "within", "within"),
  stopProcess: row("operator", "within", "within"),
  writeStdin: row("operator", "within", "within"),
  extendProcess: row("operator", "within", "within"),
  resizeTerminal: row("operator", "within", "within"),
  attachTerminal: row("operator", "within", "within"),
  deleteProcess: row("operator", "within", "within"),

  listFanouts: row("viewer", "within", "refused"),
  getFanout: row("viewer", "within", "hidden"),
  listFanoutNodes: row("viewer", "within", "hidden"),
  followFanout: row("viewer", "within", "hidden"),
  createFanout: row("operator", "within", "refused"),
  pauseFanout: row("operator", "within", "hidden"),
  resumeFanout: row("operator", "within", "hidden"),
  cancelFanout: row("operator", "within", "hidden"),
  retryFanout: row("operator", "within", "hidden"),

  listSecrets: row("admin", "refused", "refused"),
  setSecret: row("admin", "refused", "refused"),
  deleteSecret: row("admin", "refused", "refused"),
  resealSecrets: row("admin", "refused", "refused"),

  followEvents: row("viewer", "within", "within"),
} satisfies Record<string, Permission | typeof open>;

export type OperationId = keyof typeof permissions;

export const isOpen = (operation: OperationId): boolean => permissions[operation] === open;

/** Lets a principal through to a route, or says why not. */
export const authorize = (operation: OperationId, principal: Principal): void => {
  const refusal = refusalOf(operation, principal);
  if (refusal !== undefined) throw refusal;
};

/** Every route that a principal gets through to; what it sees there is another matter. */
export const allowedTo = (principal: Principal): OperationId[] =>
  operations.filter((operation) => !isOpen(operation) && refusalOf(operation, principal) === undefined);

const operations = Object.keys(permissions) as OperationId[];

const refusalOf = (operation: OperationId, { role, scope }: Principal): DroverError | undefined => {
  const permission: Permission | typeof open = permissions[operation];
  if (permission === open) return undefined;
  if (roles.indexOf(role) < roles.indexOf(permission.role))
    return forbidden(`this needs the role ${permission.role}; your token has the role ${role}`);
  const reach = reachOf(permission, scope);
  if (reach === "hidden") return new DroverError("not_found", "your token sees no such thing");
  return reach === "refused" ? forbidden("this is about more than the scope of your token") : undefined;
};

const reachOf = ({ selector, confined }: Permission, scope: TokenScope): Reach => {
  if (scope.chatId !== undefined || scope.tasks !== undefined) return confined;
  return scope.selector === undefined ? "any" : selector;
};

const forbidden = (message: string): DroverError => new DroverError("forbidden", message);
