import { describe, expect, it } from "vitest";
import { clientAddress, trustedProxies } from "../../../control-plane/entry/client-address.ts";

describe("where a request comes from", () => {
  const trusted = trustedProxies("10.0.0.0/8, ::1, 2001:db8::/32");

  it.each([
    ["nobody is trusted by itself", "127.0.0.1", "192.0.2.7", undefined, "127.0.0.1"],
    ["who is no proxy says nothing about others", "192.0.2.9", "192.0.2.7", trusted, "192.0.2.9"],
    ["a proxy tells the last hop", "10.1.2.3", "192.0.2.7", trusted, "192.0.2.7"],
    ["what stands before it may be made up", "10.1.2.3", "203.0.113.1, 192.0.2.7", trusted, "192.0.2.7"],
    [
      "proxies behind proxies are passed over",
      "::1",
      "192.0.2.7, 10.9.9.9,2001:db8::5",
      trusted,
      "192.0.2.7",
    ],
    ["IPv4 in the form of IPv6", "::ffff:10.1.2.3", "::ffff:192.0.2.7", trusted, "192.0.2.7"],
    ["a proxy that says nothing", "10.1.2.3", undefined, trusted, "10.1.2.3"],
    ["a proxy that says what is no address", "10.1.2.3", "unknown", trusted, "10.1.2.3"],
  ])("%s", (_title, socket, header, proxies, address) => {
    expect(clientAddress(socket, header, proxies)).toBe(address);
  });

  it.each(["proxy", "10.0.0.0/33", "10.0.0.1/x", "::/129", "10.0.0.1;::1", ","])(
    "%s is no list of proxies",
    (text) => {
      expect(() => trustedProxies(text)).toThrow(/DROVER_TRUSTED_PROXIES/);
    },
  );
});
