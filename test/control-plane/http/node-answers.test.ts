import { beforeEach, describe, expect, it } from "vitest";
import { problemDocument } from "../../support/problem.ts";
import { useService } from "./service.ts";

describe("a node that answers something else than was agreed", () => {
  const { service, node, started } = useService();
  let id = "";
  beforeEach(async () => {
    id = await started({ stdin: "pipe" });
    // `null` of a list, text of a number: what an agent of another make may say.
    node.played.onRequest = () => ({ ports: null, matches: [{}], met: "soon", writtenBytes: "3" });
  });

  it.each([
    ["ports", "GET", "/ports", undefined],
    ["matches", "GET", "/output?grep=x", undefined],
    ["what it waited for", "POST", "/wait", { for: ["quiet"], quietMs: 1, waitMs: 1000 }],
    ["bytes it took", "POST", "/stdin", { text: "abc" }],
  ])("is no failure of ours: %s are 503 `unavailable`", async (_title, method, path, body) => {
    const answer = await service.send(method, `/v1/processes/${id}${path}`, body);
    expect(answer).toMatchObject({ status: 503, body: problemDocument(503, "unavailable") });
    expect(service.rig.lines.map(({ event }) => event)).not.toContain("request.crashed");
  });
});
