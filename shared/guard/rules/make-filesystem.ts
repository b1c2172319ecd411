import type { CommandRule } from "../verdict.ts";

const harmless = new Set(["-h", "--help", "-V", "--version"]);

export const makeFilesystem: CommandRule = {
  rule: "make_filesystem",
  names: /^(?:mkfs(?:\..*)?|mke2fs|mkswap|mk(?:dos|nt|exfat|udf|hfs)fs|newfs(?:_.*)?)$/,
  found(argv) {
    const asks = argv.length > 1 && argv.slice(1).every((word) => harmless.has(word));
    return asks ? undefined : "make a new filesystem over what is on a device";
  },
};
