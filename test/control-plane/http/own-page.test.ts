import { describe, expect, it } from "vitest";
import { provenanceOf, requireOwnPage } from "../../../control-plane/http/own-page.ts";

const own = "https://drover.test/behind/a/path";
const request = (method: string, headers: Record<string, string>) =>
  new Request("http://10.0.0.1/v1/nodes", { method, headers });
const counts = (method: string, headers: Record<string, string>, publicUrl = own): boolean => {
  try {
    requireOwnPage(request(method, headers), publicUrl);
    return true;
  } catch {
    return false;
  }
};

describe("where a request comes from", () => {
  it.each([
    [{ origin: "https://drover.test" }, "own"],
    [{ origin: "http://drover.test" }, "foreign"],
    [{ origin: "https://drover.test:8443" }, "foreign"],
    [{ origin: "https://a.drover.test" }, "foreign"],
    [{ origin: "https://drover.test.evil.example" }, "foreign"],
    [{ origin: "null" }, "foreign"],
    [{ origin: "" }, "foreign"],
    // What a page can say wins over nothing that only the browser can.
    [{ origin: "https://evil.example", "sec-fetch-site": "same-origin" }, "foreign"],
    [{ "sec-fetch-site": "same-origin" }, "own"],
    [{ "sec-fetch-site": "same-site" }, "foreign"],
    [{ "sec-fetch-site": "cross-site" }, "foreign"],
    [{ "sec-fetch-site": "none" }, "unknown"],
    [{}, "unknown"],
  ])("%j is %s", (headers, provenance) => {
    expect(provenanceOf(request("POST", headers), own)).toBe(provenance);
  });

  it.each([
    ["http://127.0.0.1:4600", "http://localhost:4600", "own"],
    ["http://127.0.0.1:4600", "http://[::1]:4600", "own"],
    ["http://localhost:4600", "http://127.0.0.1:4600", "own"],
    ["http://127.0.0.1:4600", "http://localhost:5999", "foreign"],
    ["http://127.0.0.1:4600", "https://localhost:4600", "foreign"],
    ["http://127.0.0.1:4600", "http://127.0.0.1.evil.example:4600", "foreign"],
    ["http://drover.test:4600", "http://localhost:4600", "foreign"],
  ])("of %s a page of %s is %s", (publicUrl, origin, provenance) => {
    expect(provenanceOf(request("POST", { origin }), publicUrl)).toBe(provenance);
  });
});

describe("a cookie", () => {
  it("counts in a change or an upgrade only from our own page, in a read unless another page asks", () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) expect(counts(method, {})).toBe(false);
    for (const method of ["GET", "HEAD"]) expect(counts(method, {})).toBe(true);
    expect(counts("POST", { "sec-fetch-site": "none" })).toBe(false);
    expect(counts("GET", { "sec-fetch-site": "none" })).toBe(true);
    expect(counts("GET", { "sec-fetch-site": "cross-site" })).toBe(false);
    expect(counts("GET", { upgrade: "websocket" })).toBe(false);
    expect(counts("GET", { upgrade: "websocket", origin: "https://drover.test" })).toBe(true);
    expect(counts("DELETE", { origin: "https://drover.test" })).toBe(true);
    expect(counts("POST", { "sec-fetch-site": "same-origin" })).toBe(true);
  });
});
