import { BlockList, isIP } from "node:net";
import { SettingError } from "./settings.ts";

/** The proxies whose word is taken for where a request comes from: addresses and networks such as `10.0.0.0/8`. */
export const trustedProxies = (text: string): BlockList => {
  const list = new BlockList();
  for (const entry of text.split(",").map((each) => each.trim())) {
    const [address = "", bits] = entry.split("/");
    const family = familyOf(address);
    const most = family === "ipv6" ? 128 : 32;
    if (family === undefined || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      throw new SettingError(
        "DROVER_TRUSTED_PROXIES must be addresses or networks with commas between them, such as 10.0.0.0/8,::1",
      );
    list.addSubnet(address, bits === undefined ? most : Number(bits), family);
  }
  return list;
};

const familyOf = (address: string): "ipv4" | "ipv6" | undefined =>
  ({ 0: undefined, 4: "ipv4" as const, 6: "ipv6" as const })[isIP(address)];

/**
 * Where a request comes from: the far end of its socket, or where that is a trusted proxy the last of `X-Forwarded-For` that is none.
 * What stands before it was said by somebody whom nobody vouches for.
 */
export const clientAddress = (
  socket: string | undefined,
  forwardedFor: string | null | undefined,
  trusted: BlockList | undefined,
): string => {
  const far = plain(socket ?? "");
  if (trusted === undefined || !isTrusted(trusted, far)) return far;
  const hops = (forwardedFor ?? "").split(",").map((hop) => plain(hop.trim()));
  const last = hops.findLast((hop) => !isTrusted(trusted, hop));
  return last !== undefined && isIP(last) !== 0 ? last : far;
};

const isTrusted = (trusted: BlockList, address: string): boolean => {
  const family = familyOf(address);
  return family !== undefined && trusted.check(address, family);
};

const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "");
