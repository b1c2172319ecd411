import type { PendingQuery, Row } from "postgres";
import { type Connection, type DatabaseOptions, openConnection, type Sql } from "./client.ts";

/**
 * The pool of this process. A question goes to an idle connection, else to a new one while there may be more, else to the one with
 * the fewest questions; a transaction has its connection to itself from its first moment to its last.
 *
 * Invariants: a connection that is over is not in the pool, and nothing of it is used again; whatever was asked of it
 * fails, so that an answer is always the answer to its own question.
 */
export type Pool = Sql & {
  /** Runs the work in a transaction; a work that fails undoes it. */
  begin<T>(work: (transaction: Sql) => Promise<T>): Promise<T>;
  /** Refuses what is asked from now on, and waits so long for what is under way. */
  end(limit: { timeout: number }): Promise<void>;
};

const idleLimitMs = 20_000;
const endLimitS = 5;

export function openPool(options: DatabaseOptions): Pool {
  const lines = new Lines(options);
  // Makes questions and their parts, and is never connected.
  const { sql: maker } = openConnection(options);
  const sql = asking(maker, {
    ask: (question) => lines.ask(question),
    unsafe() {
      throw new Error("a text is run as it is in a transaction only");
    },
  });
  return Object.assign(sql, {
    begin: <T>(work: (transaction: Sql) => Promise<T>) => lines.transaction(work),
    end: ({ timeout }: { timeout: number }) => lines.end(timeout),
  });
}

type Question = PendingQuery<Row[]>;

type Way = { ask(question: Question): Promise<Row[]>; unsafe: Sql["unsafe"] };

/** The same language; a question is asked in this way when its answer is wanted, and may become a part of another one until then. */
function asking<S extends Sql>(sql: S, { ask, unsafe }: Way): S {
  return new Proxy(sql, {
    apply: (target, self, all: unknown[]) => {
      const made: unknown = Reflect.apply(target as unknown as () => unknown, self, all);
      return made instanceof Promise ? asked(made as Question, ask) : made;
    },
    get: (target, name) => (name === "unsafe" ? unsafe : Reflect.get(target, name)),
  });
}

function asked(question: Question, ask: (question: Question) => Promise<Row[]>): Question {
  let answering: Promise<Row[]> | undefined;
  const answer = () => (answering ??= ask(question));
  return Object.defineProperties(question, {
    // oxlint-disable-next-line unicorn/no-thenable -- a question is a promise already.
    then: { value: (...all: Parameters<Promise<Row[]>["then"]>) => answer().then(...all) },
    catch: { value: (...all: Parameters<Promise<Row[]>["catch"]>) => answer().catch(...all) },
    finally: { value: (...all: Parameters<Promise<Row[]>["finally"]>) => answer().finally(...all) },
  });
}

type Line = Connection & { asked: number; isTaken: boolean; idle: NodeJS.Timeout | undefined };

class Lines {
  #options: DatabaseOptions;
  #lines = new Set<Line>();
  #waiting: (() => void)[] = [];
  #isEnded = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  async ask(question: Question): Promise<Row[]> {
    const line = await this.#take(false);
    try {
      return await unlessOver(line, answerOn(line.sql, question));
    } finally {
      this.#giveBack(line);
    }
  }

  /**
   * Where the connection is over there is nothing to commit or to undo. The package would write it all the same, to a socket
   * that it no longer has, and so end the program: neither it nor the work gets so far.
   */
  async transaction<T>(work: (transaction: Sql) => Promise<T>): Promise<T> {
    const line = await this.#take(true);
    const onThis = async (transaction: Sql): Promise<T> => {
      const ask = async (question: Question): Promise<Row[]> => {
        line.over.throwIfAborted();
        return answerOn(transaction, question);
      };
      const unsafe: Sql["unsafe"] = (...all) => {
        line.over.throwIfAborted();
        return transaction.unsafe(...all);
      };
      try {
        return await work(asking(transaction, { ask, unsafe }));
      } finally {
        if (line.over.aborted) await new Promise<never>(() => {});
      }
    };
    try {
      return (await unlessOver(line, line.sql.begin(onThis))) as T;
    } finally {
      line.isTaken = false;
      this.#giveBack(line);
    }
  }

  async end(timeout: number): Promise<void> {
    this.#isEnded = true;
    this.#wake();
    await Promise.all([...this.#lines].map((line) => this.#retire(line, timeout)));
  }

  async #take(alone: boolean): Promise<Line> {
    for (;;) {
      if (this.#isEnded) throw Object.assign(new Error("the pool is closed"), { code: "CONNECTION_ENDED" });
      const line = this.#best();
      if (line === undefined) {
        await new Promise<void>((wake) => void this.#waiting.push(wake));
        continue;
      }
      clearTimeout(line.idle);
      line.asked++;
      line.isTaken = alone;
      return line;
    }
  }

  #best(): Line | undefined {
    const free = [...this.#lines].filter((line) => !line.isTaken);
    const [best] = free.toSorted((a, b) => a.asked - b.asked);
    if (best?.asked === 0) return best;
    return this.#lines.size < (this.#options.poolSize ?? 10) ? this.#open() : best;
  }

  #open(): Line {
    const line: Line = { ...openConnection(this.#options), asked: 0, isTaken: false, idle: undefined };
    this.#lines.add(line);
    line.over.addEventListener("abort", () => {
      this.#lines.delete(line);
      this.#wake();
    });
    return line;
  }

  #giveBack(line: Line): void {
    line.asked--;
    if (line.asked === 0 && this.#lines.has(line))
      line.idle = setTimeout(() => void this.#retire(line, endLimitS), idleLimitMs);
    this.#wake();
  }

  #retire(line: Line, timeout: number): Promise<void> {
    clearTimeout(line.idle);
    this.#lines.delete(line);
    return line.sql.end({ timeout });
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/**
 * The rows are gathered here: an answer that breaks off after some of its rows (a deadlock, a limit) would leave the package
 * counting from there in the next answer of that connection, which then begins with holes.
 */
async function answerOn(sql: Sql, question: Question): Promise<Row[]> {
  const rows: Row[] = [];
  const { count } = await sql`${question}`.forEach((row) => void rows.push(row));
  return Object.assign(rows, { count });
}

/** The outcome of what is under way on a connection; the package leaves some of it open when the connection ends. */
async function unlessOver<T>({ over }: Line, work: Promise<T>): Promise<T> {
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(over.reason as Error);
  over.addEventListener("abort", end);
  try {
    return await Promise.race([work, ended.promise]);
  } finally {
    over.removeEventListener("abort", end);
  }
}
