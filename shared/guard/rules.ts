import { makeFilesystem } from "./rules/make-filesystem.ts";
import { power } from "./rules/power.ts";
import { rawWrite } from "./rules/raw-write.ts";
import { recursiveMode } from "./rules/recursive-mode.ts";
import { removeByFind } from "./rules/remove-by-find.ts";
import { removeTree } from "./rules/remove-tree.ts";
import { wipeDisk } from "./rules/wipe-disk.ts";
import type { CommandRule } from "./verdict.ts";

/** The default policy; fork bombs (fork-bomb.ts) and redirections (raw-write.ts) are judged where they stand in the text. */
export const commandRules: readonly CommandRule[] = [
  removeTree,
  removeByFind,
  makeFilesystem,
  rawWrite,
  wipeDisk,
  power,
  recursiveMode,
];
