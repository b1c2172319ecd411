import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { NodeView } from "#shared/api/node.ts";
import type { Api } from "../support/api.ts";
import type { Daemon } from "../support/daemon.ts";
import { bytesOf, hear } from "../support/event-stream.ts";
import { eventually } from "../support/eventually.ts";
import { useProduct } from "../support/product.ts";
import { Proxy } from "../support/proxy.ts";

const product = useProduct();

describe("two control planes on one database", () => {
  /** The agent's line can be led to the other control plane. */
  let line: Proxy;
  let b: { daemon: Daemon; port: number; api: Api };

  beforeAll(async () => {
    b = await product.anotherControlPlane();
    line = await Proxy.to(product.port);
    await product.agent("n1", { url: line.url });
    return () => line.close();
  }, 120_000);

  const onB = (command: string, change: object = {}) => b.api.start({ node: "n1", command, ...change });

  it("start, follow, write to, wait for, read and stop on B what runs on the agent of A", async () => {
    expect(await b.api.get<NodeView>("GET /v1/nodes/n1")).toMatchObject({ status: "online" });
    const done = await b.api.exec({ node: "n1", command: "echo out; exit 3" });
    expect(done).toMatchObject({ exitCode: 3, result: { text: "out\n" }, stale: false });

    const { id } = await onB("cat; sleep 600", { stdin: "pipe" });
    await eventually(async () => (await b.api.process(id)).status === "running");
    const heard = hear(b.api, id);
    await b.api.get(`POST /v1/processes/${id}/stdin`, { body: { text: "ping\n", eof: true } });
    await b.api.printed(id, "ping");
    expect((await b.api.output(id)).text).toBe("ping\n");
    expect(await b.api.stop(id)).toMatchObject({ status: "killed", reason: "stopped" });
    expect(bytesOf(await heard).toString()).toBe("ping\n");
  });

  it("stream many megabytes from the agent of A to a reader of B, byte for byte", async () => {
    const { id } = await onB("yes 0123456789 | head -c 24000000; sleep 0.3");
    const followed = bytesOf(await hear(b.api, id));
    expect(followed.equals(Buffer.alloc(24_000_000, "0123456789\n"))).toBe(true);
  });

  it("losing A: the agent comes to B, what ran goes on, a reader of B misses nothing", async () => {
    const { id } = await onB("for i in $(seq 1 60); do echo line-$i; sleep 0.1; done; exit 7");
    const heard = hear(b.api, id);
    await b.api.printed(id, "line-5");
    line.target = b.port;
    await product.killControlPlane();
    expect(bytesOf(await heard).toString()).toBe(
      Array.from({ length: 60 }, (_, n) => `line-${n + 1}\n`).join(""),
    );
    expect(await b.api.final(id)).toMatchObject({ status: "exited", exitCode: 7 });
    expect(await b.api.exec({ node: "n1", command: "echo at B" })).toMatchObject({ exitCode: 0 });
  });

  it("a control plane that stood still while its agent went elsewhere finds that out, and reaches it there", async () => {
    await product.startControlPlane();
    onTestFinished(() => b.daemon.kill("SIGCONT"));
    b.daemon.kill("SIGSTOP");
    line.target = product.port;
    line.cut();
    await product.status("n1", "online");
    expect(await product.api.exec({ node: "n1", command: "echo back at A" })).toMatchObject({ exitCode: 0 });
    b.daemon.kill("SIGCONT");
    await eventually(async () => (await b.api.exec({ node: "n1", command: "true" })).exitCode === 0);
  });
});
