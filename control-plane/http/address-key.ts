const groups = 8;

/**
 * What stands for an address where it is counted: an IPv6 host has a network of 64 bits to itself, so that is what counts of it;
 * IPv4 in the form of IPv6 is IPv4.
 */
export const addressKey = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(":")) return address;
  const [front = "", back] = address.toLowerCase().split("%", 1)[0]?.split("::") ?? [];
  const [before, after] = [parts(front), parts(back ?? "")];
  const zeros =
    back === undefined ? [] : Array.from({ length: groups - before.length - after.length }, () => "0");
  return `${[...before, ...zeros, ...after]
    .slice(0, groups / 2)
    .map((part) => part.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
};

const parts = (text: string): string[] => (text === "" ? [] : text.split(":"));
