import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { useService } from "./service.ts";

const html = "<script>alert(1)</script>\n";

describe("what a browser is told", () => {
  const { service, node, started } = useService();
  let id = "";
  beforeEach(async () => {
    id = await started();
    node.played.write(id, html);
    node.played.exit(id);
    await service.rig.until(id, (row) => row.status === "exited");
  });

  it("is with every answer that nothing of it is loaded, run, framed, embedded or kept", async () => {
    for (const path of ["/healthz", "/v1/me", "/v1/nothing", "/nothing", `/v1/processes/${id}/events`]) {
      const { headers, body } = await service.fetch(path);
      await body?.cancel();
      expect(Object.fromEntries(headers)).toMatchObject({
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "cache-control": expect.stringContaining("no-store"),
      });
    }
  });

  it.each([
    ["text", "text/plain; charset=utf-8"],
    ["json", "application/json"],
    ["raw", "application/octet-stream"],
  ])("is that output is %s and no page, whatever was written", async (format, type) => {
    for (const view of ["", "&grep=alert"]) {
      const answer = await service.fetch(
        `/v1/processes/${id}/output?format=${format}${format === "raw" ? "" : view}`,
      );
      if (answer.status !== 200) continue;
      expect(answer.headers.get("content-type")).toBe(type);
      expect(await answer.text()).toContain("alert(1)");
    }
  });

  it("lets a page run its own scripts and styles, by their digests, and nothing else", async () => {
    const page = await service.app.request("/docs");
    const text = await page.text();
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).not.toContain("unsafe");
    for (const [tag, directive] of [
      ["script", "script-src"],
      ["style", "style-src"],
    ] as const) {
      const inline = text.slice(text.indexOf(`<${tag}>`) + tag.length + 2, text.indexOf(`</${tag}>`));
      const digest = createHash("sha256").update(inline).digest("base64");
      expect(policy).toContain(`${directive} 'sha256-${digest}';`);
    }
    expect(policy).toContain("frame-ancestors 'none'");
    // Attributes have no digest: such a script or style would not be run.
    expect(text).not.toMatch(/ (style|on[a-z]+)=/);
  });
});
