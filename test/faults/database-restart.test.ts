import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProcessView } from "#shared/api/process.ts";
import { isFinal } from "#shared/process-state.ts";
import { startEmbeddedPostgres } from "../../control-plane/store/embedded/start.ts";
import { eventually, temporaryFolder } from "../support/eventually.ts";
import { Product } from "../support/product.ts";
import { Proxy } from "../support/proxy.ts";

// The control plane reaches its database through a proxy, since a server that is started again may have another port.
const dataDir = temporaryFolder();
chmodSync(dataDir, 0o711);
const startServer = () => startEmbeddedPostgres({ dataDir, durable: false, log: { info: () => {} } });

let server: Awaited<ReturnType<typeof startServer>>;
let proxy: Proxy;
let product: Product;

const portOf = (url: string): number => Number(new URL(url).port);

beforeAll(async () => {
  server = await startServer();
  proxy = await Proxy.to(portOf(server.url));
  const url = new URL(server.url);
  url.port = String(proxy.port);
  product = new Product({ databaseUrl: url.href, agents: ["n1"] });
  await product.start();
}, 120_000);

afterAll(async () => {
  await product.close();
  await proxy.close();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}, 120_000);

const path = (name: string) => join(product.folder, name);

describe("a database that goes away and comes back", () => {
  it("while a command runs costs no ending, no byte and no connection of the agent's", async () => {
    const command = "seq 1 1000; while [ ! -e go ]; do sleep 0.05; done; seq 1001 2000; echo >ended; exit 8";
    const { id } = await product.api.start({ node: "n1", cwd: product.folder, command });
    await product.api.printed(id, "1000");
    const waiting = product.api.final(id).catch(() => undefined);
    await server.stop();
    proxy.cut();
    writeFileSync(path("go"), "");
    await eventually(() => existsSync(path("ended")));
    const ready = await product.api.api("GET /readyz");
    expect(ready.status).toBe(503);
    expect((await product.api.api("GET /healthz")).status).toBe(200);
    const refused = await product.api.api(`GET /v1/processes/${id}`);
    expect(refused).toMatchObject({ status: 503, value: { code: "unavailable" } });
    expect(JSON.stringify(refused.value)).not.toMatch(/select|postgres|ECONN|127\.0\.0\.1/i);
    server = await startServer();
    proxy.target = portOf(server.url);
    await eventually(async () => (await product.api.api("GET /readyz")).status === 200, 60_000);
    await waiting;
    expect(await product.api.final(id)).toMatchObject({ status: "exited", exitCode: 8 });
    expect((await product.api.raw(id)).toString()).toBe(
      Array.from({ length: 2000 }, (_, n) => `${n + 1}\n`).join(""),
    );
    expect(await product.api.exec({ node: "n1", command: "exit 3" })).toMatchObject({ exitCode: 3 });
  });

  it("whose connections break runs every command once that its caller repeats", async () => {
    mkdirSync(path("runs"));
    const breaking = setInterval(() => proxy.cut(), 300);
    const once = async (n: number) => {
      for (;;) {
        const body = {
          node: "n1",
          cwd: path("runs"),
          command: `echo x >>${n}; exit ${n}`,
          ifOffline: "queue",
        };
        const answer = await product.api.api<{ id: string }>("POST /v1/processes", {
          body,
          headers: { "idempotency-key": `db-${n}` },
        });
        if (answer.status < 300) return answer.value.id;
        if (answer.status !== 503)
          throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.value)}`);
      }
    };
    const ids: string[] = [];
    try {
      for (let n = 0; n < 100; n++) ids.push(await once(n));
    } finally {
      clearInterval(breaking);
    }
    // Connections that were cut last are noticed by whoever uses them next, who is told 503 and asks again.
    const endings = ids.map(async (id) => {
      let seen: ProcessView | undefined;
      await eventually(async () => {
        const { status, value } = await product.api.api<ProcessView>(`GET /v1/processes/${id}`);
        seen = status === 200 ? value : undefined;
        return seen !== undefined && isFinal(seen.status);
      }, 90_000);
      return [seen?.status, seen?.exitCode];
    });
    expect(await Promise.all(endings)).toEqual(ids.map((_, n) => ["exited", n]));
    for (let n = 0; n < 100; n++) expect(readFileSync(path(`runs/${n}`), "utf8")).toBe("x\n");
  }, 120_000);
});
