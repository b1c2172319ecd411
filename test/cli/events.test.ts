import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./run-cli.ts";
import { problem, ScriptedServer } from "./scripted-server.ts";

const event = (id: string, type: string, data: object): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const told = (id: string, type: string, data: object): string =>
  event(id, type, { type, at: "2026-03-01T12:00:00.000Z", nodeId: "node_1", data });

describe("drover events", () => {
  let server: ScriptedServer;
  beforeEach(async () => {
    server = new ScriptedServer();
    await server.start();
  });
  afterEach(() => server.close());

  /** Each connection gets the next of these texts and is cut; the one after the last is refused. */
  const streams = (...texts: string[]): void => {
    server.routes = {
      "GET /v1/events": (response, asked) => {
        const text = texts.shift();
        if (text === undefined) return problem(410, "cursor_expired", "no longer kept")(response, asked);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(text);
      },
    };
  };

  it("prints each event once, over a connection that breaks, and says why it cannot go on", async () => {
    streams(
      event("1", "begin", {}) + told("2", "node.online", { name: "web-1" }),
      told("3", "node.changed", { name: "web-1", changed: ["labels"] }),
    );
    const { code, stdout, stderr } = await runCli(["events"], { env: server.env });
    expect(stdout.split("\n")).toEqual([
      "2026-03-01T12:00:00.000Z  node.online  web-1",
      '2026-03-01T12:00:00.000Z  node.changed  web-1  {"changed":["labels"]}',
      "",
    ]);
    expect(code).toBe(125);
    expect(stderr).toContain("connecting again");
    expect(stderr).toContain("no longer kept");
    expect(server.asked.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "2", "3"]);
  });

  it("goes on behind the event it is given, as one JSON object a line", async () => {
    streams(told("8", "node.deleted", {}));
    const { stdout } = await runCli(["events", "--from", "7", "-o", "json"], { env: server.env });
    expect(server.asked[0]?.query.get("from")).toBe("7");
    expect(JSON.parse(stdout)).toMatchObject({ id: "8", type: "node.deleted", nodeId: "node_1" });
  });
});
