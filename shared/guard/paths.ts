import { globMatches } from "../glob.ts";
import { marks } from "./marks.ts";

const systemFolders =
  "bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys usr var Applications Library System Users Volumes private".split(
    " ",
  );
const homesFolders = new Set(["home", "Users"]);

const onlyGlob = /^[.\uFDD2\uFDD3]*[\uFDD2\uFDD3][.\uFDD2\uFDD3]*$/;

/** An absolute path (or one below the home mark) without `.`, `..`, doubled or trailing slashes; undefined for a relative one. */
export function plainPath(path: string): string | undefined {
  let root = path.startsWith(marks.home) ? marks.home : "/";
  if (!path.startsWith(root)) return undefined;
  const kept: string[] = [];
  for (const part of path.slice(1).split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") kept.push(part);
    else if (kept.pop() === undefined && root === marks.home) {
      // The folder above a home is where the homes are.
      root = "/";
      kept.push("home");
    }
  }
  return root === "/" ? `/${kept.join("/")}` : [root, ...kept].join("/");
}

// The root of a drive as other systems spell it: `C:\\`, `C:/*`, and where WSL and Cygwin mount one.
const driveRoot = /^[A-Za-z]:[\\/]?[\uFDD2]?$/;
const mountedDrive = /^\/(?:mnt|cygdrive)\/[a-z](?:\/[.\uFDD2\uFDD3]*[\uFDD2\uFDD3][.\uFDD2\uFDD3]*)?$/;

/** Whether the path is `/`, the root of a drive or a system folder directly below `/`, or all that is in one of them. */
export function isSystemFolder(path: string): boolean {
  if (driveRoot.test(path)) return true;
  const plain = plainPath(path);
  if (plain === undefined || plain.startsWith(marks.home)) return false;
  if (mountedDrive.test(plain)) return true;
  const [top = "", second, ...deeper] = plain.slice(1).split("/");
  // `/.*` is `/` itself to shells that match `.` and `..` with it.
  if (top === "" || (second === undefined && onlyGlob.test(top))) return true;
  if (deeper.length > 0 || (second !== undefined && !onlyGlob.test(second))) return false;
  return systemFolders.some((folder) => globMatches(top, folder, marks));
}

/** Whether the path is somebody's home folder, or all that is in it. */
export function isHomeFolder(path: string): boolean {
  const plain = plainPath(path);
  if (plain === undefined) return false;
  const parts = plain.split("/");
  const inside = plain.startsWith(marks.home) ? parts.slice(1) : parts.slice(3);
  const atHome = parts[0] === marks.home || (homesFolders.has(parts[1] ?? "") && parts.length > 2);
  return atHome && (inside.length === 0 || (inside.length === 1 && onlyGlob.test(inside[0] ?? "")));
}
