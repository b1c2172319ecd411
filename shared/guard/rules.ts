import { forkBombRule } from "./rules/fork-bomb.ts";
import { diskTool } from "./rules/disk-tool.ts";
import { makeFilesystem } from "./rules/make-filesystem.ts";
import { moveAway } from "./rules/move-away.ts";
import { power, powerBySwitch } from "./rules/power.ts";
import { powerByBus } from "./rules/power-by-bus.ts";
import { rawWrite } from "./rules/raw-write.ts";
import { recursiveMode } from "./rules/recursive-mode.ts";
import { removeByFind } from "./rules/remove-by-find.ts";
import { removeBySync } from "./rules/remove-by-sync.ts";
import { removeTree } from "./rules/remove-tree.ts";
import type { CommandRule } from "./verdict.ts";

/** The rules over simple commands; fork bombs and redirections are judged where they stand in the text (judge.ts). */
export const commandRules: readonly CommandRule[] = [
  removeTree,
  removeByFind,
  removeBySync,
  moveAway,
  makeFilesystem,
  rawWrite,
  diskTool,
  power,
  powerBySwitch,
  powerByBus,
  recursiveMode,
];

/** Every rule of the default policy, by its name. */
export const ruleNames: readonly string[] = [
  ...new Set([...commandRules.map(({ rule }) => rule), forkBombRule]),
];
