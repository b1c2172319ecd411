import { describe, expect, it } from "vitest";
import { addressKey } from "../../../control-plane/http/address-key.ts";
import { Buckets } from "../../../control-plane/http/buckets.ts";

const rate = { perSecond: 2, burst: 4 };

describe("a token bucket", () => {
  it("gives its burst at once, then what has come in, and says how long to wait", () => {
    const buckets = new Buckets();
    const taken = Array.from({ length: 5 }, () => buckets.take("a", rate, 0));
    expect(taken.map(({ ok, remaining }) => [ok, remaining])).toEqual([
      ...[
        [true, 3],
        [true, 2],
        [true, 1],
        [true, 0],
      ],
      [false, 0],
    ]);
    expect(taken[4]).toMatchObject({ waitS: 1, resetS: 2 });
    expect(buckets.take("a", rate, 500).ok).toBe(true);
    expect(buckets.take("a", rate, 600).ok).toBe(false);
    expect(buckets.take("a", rate, 10_000).remaining).toBe(3);
  });

  it("is each key's own, and looking takes nothing", () => {
    const buckets = new Buckets();
    for (let n = 0; n < 4; n += 1) buckets.take("a", rate, 0);
    expect(buckets.look("a", rate, 0).ok).toBe(false);
    expect(buckets.look("b", rate, 0)).toMatchObject({ ok: true, remaining: 4 });
    expect(buckets.take("b", rate, 0).remaining).toBe(3);
  });

  it("gives nothing for a clock that was set back", () => {
    const buckets = new Buckets();
    for (let n = 0; n < 4; n += 1) buckets.take("a", rate, 1_000_000);
    expect(buckets.take("a", rate, 0).ok).toBe(false);
  });

  it("is forgotten where ten thousand others were used since", () => {
    const buckets = new Buckets();
    for (let n = 0; n < 4; n += 1) buckets.take("a", rate, 0);
    for (let n = 0; n < 10_000; n += 1) buckets.take(`b${n}`, rate, 0);
    expect(buckets.look("a", rate, 0).remaining).toBe(4);
  });
});

describe("what stands for an address", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0db8::9", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["unknown", "unknown"],
  ])("%s is %s", (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
