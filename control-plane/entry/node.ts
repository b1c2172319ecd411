// The control plane on Node.

import { hostname } from "node:os";
import { startOn, type ControlPlane } from "./control-plane.ts";
import { openDoor } from "./node/door.ts";
import type { Settings } from "./settings.ts";

export type { ControlPlane } from "./control-plane.ts";
export { isForPeople, settingsFromEnv, SettingError, type Settings } from "./settings.ts";

/** Starts a control plane in this process; see `startOn`. */
export const startControlPlane = (
  settings: Settings,
  write?: (line: string) => void,
): Promise<ControlPlane> => startOn({ openDoor, place: `${hostname()}:${process.pid}` }, settings, write);
