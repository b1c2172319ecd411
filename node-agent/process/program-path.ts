import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const systemFolders = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/**
 * Where a program lies, by a PATH and then the system's own folders; the name itself where it is nowhere. The shell that
 * runs a command is looked up here and not in the command's own PATH, which a request may set to anything.
 */
export const programPath = (name: string, path = ""): string => {
  if (name.includes("/")) return name;
  const known = found.get(`${name}:${path}`);
  if (known !== undefined && isExecutable(known)) return known;
  const now = lookUp(name, path);
  if (found.size >= maxFound) found.clear();
  found.set(`${name}:${path}`, now);
  return now;
};

const found = new Map<string, string>();
const maxFound = 100;

const lookUp = (name: string, path: string): string => {
  const folders = [...path.split(delimiter).filter((folder) => folder.startsWith("/")), ...systemFolders];
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? name;
};

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us.
    return false;
  }
};
