import { isRawDevice } from "../devices.ts";
import { commandName } from "../options.ts";
import { shown } from "../marks.ts";
import { located } from "../shell.ts";
import type { CommandRule } from "../verdict.ts";

// What each tool has to be told to overwrite a disk, among its words; `always`: it does so unless told not to.
const destroys: ReadonlyMap<string, RegExp> = new Map([
  ["sgdisk", /^-[a-zA-Z]*[Zzo]|^--(?:zap|zap-all|clear|load-backup.*)$/],
  ["parted", /^(?:mklabel|mktable|mkpart|rm)$/],
  ["sfdisk", /^--(?:delete|wipe.*)$/],
  ["nvme", /^(?:format|sanitize|write-zeroes)$/],
  ["hdparm", /^--(?:security-erase.*|trim-sector-ranges.*|write-sector)$/],
  ["badblocks", /^-[a-z]*w/],
  ["cryptsetup", /^(?:luksFormat|luksErase|erase|reencrypt)$/],
  ["mdadm", /^--(?:zero-superblock|create)$|^-C$/],
]);
const always = new Set(["wipefs", "blkdiscard", "pvcreate", "pvremove", "vgremove", "lvremove"]);
const asks = /^(?:-h|--help|-V|--version|--no-act|--test)$/;
const tries = /^(?:wipefs|sfdisk)$/;

export const diskTool: CommandRule = {
  rule: "raw_disk_write",
  names:
    /^(?:wipefs|blkdiscard|(?:pv|vg|lv)remove|pvcreate|sgdisk|parted|sfdisk|nvme|hdparm|badblocks|cryptsetup|mdadm)$/,
  found(argv, cwd) {
    const words = argv.slice(1);
    const name = commandName(argv);
    if (words.length === 0 || words.some((word) => asks.test(word))) return undefined;
    if (tries.test(name) && words.some((word) => /^-[a-z]*n/.test(word))) return undefined;
    if (!always.has(name) && !words.some((word) => destroys.get(name)?.test(word))) return undefined;
    const device = words.find((word) => isRawDevice(located(word, cwd))) ?? words.at(-1) ?? "";
    return `wipe ${shown(device)} (${name})`;
  },
};
