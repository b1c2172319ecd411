import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDataFolder, type DataFolder } from "../../node-agent/data-folder.ts";
import { keyHash, readIdentity } from "../../node-agent/identity.ts";
import { createLog } from "../../node-agent/log.ts";
import { Self } from "../../node-agent/self.ts";
import { temporaryFolder } from "../support/eventually.ts";

const key = "k".repeat(43);
const identity = { nodeId: "node_1", name: "n1", key, url: "http://x" };

describe("the keys of an agent", () => {
  const root = temporaryFolder();
  let folder: DataFolder;
  let lines: string[];
  beforeEach(() => {
    folder = openDataFolder(join(root, "data"));
    lines = [];
  });
  afterEach(() => {
    folder.close();
    rmSync(root, { recursive: true, force: true });
  });

  const log = createLog({ format: "json", write: (line) => void lines.push(line) });
  const selfOf = (change: object = {}) => new Self(folder, { ...identity, ...change }, log);
  const onDisk = () => {
    const stored = readIdentity(folder);
    return stored.state === "node" ? stored.identity : undefined;
  };
  const rotated = (self: Self, inForce: string): string => {
    const answer = self.rotateKey(keyHash(inForce));
    if ("error" in answer) throw new Error(answer.error.message);
    return (answer.value as { keyHash: string }).keyHash;
  };

  it("are two from a rotation until it is known which counts; the new one is on disk before it is answered", () => {
    const self = selfOf();
    expect(self.keys).toEqual([key]);
    const answered = rotated(self, key);
    const [next = "", before] = self.keys;
    expect([keyHash(next), before]).toEqual([answered, key]);
    expect(Buffer.from(next, "base64url")).toHaveLength(32);
    expect(onDisk()).toEqual({ ...identity, nextKey: next });
    log.info("said", { next });
    expect(lines.join()).not.toContain(next);
  });

  it.each([
    ["the new one, when a welcome says that it is in force", (next: string) => next],
    ["the old one, when the new one was not taken", () => key],
  ])("are one again: %s", (_, inForce) => {
    const self = selfOf();
    rotated(self, key);
    const [next = ""] = self.keys;
    self.welcomed({ nodeName: "n1", keyHash: keyHash(inForce(next)) });
    expect(self.keys).toEqual([inForce(next)]);
    expect(onDisk()).toEqual({ ...identity, key: inForce(next) });
  });

  it("stay two while nobody says which counts, or names one that is neither", () => {
    const self = selfOf();
    rotated(self, key);
    const { keys } = self;
    self.welcomed({ nodeName: "n1" });
    self.welcomed({ nodeName: "n1", keyHash: "0".repeat(64) });
    expect(self.keys).toEqual(keys);
    expect(self.rotateKey("0".repeat(64))).toMatchObject({ error: { code: "conflict" } });
    expect(self.keys).toEqual(keys);
  });

  it("are answered again as long as the old one counts, and followed by another when the new one does", () => {
    const self = selfOf();
    const first = rotated(self, key);
    expect(rotated(self, key)).toBe(first);
    const [next = ""] = self.keys;
    const second = rotated(self, next);
    expect(second).not.toBe(first);
    expect(self.keys.slice(1)).toEqual([next]);
    expect(onDisk()).toMatchObject({ key: next, nextKey: self.keys[0] });
  });

  it("are all kept over a new name, and read again by the next agent", () => {
    rotated(selfOf(), key);
    const self = selfOf(onDisk());
    const { keys } = self;
    self.welcomed({ nodeName: "n2" });
    expect(self.name).toBe("n2");
    expect(onDisk()).toMatchObject({ name: "n2", key, nextKey: keys[0] });
  });

  it("change in nothing when they cannot be written; a new name counts all the same", () => {
    const self = selfOf();
    mkdirSync(join(folder.path, "identity.json.new"));
    expect(() => self.rotateKey(keyHash(key))).toThrow("cannot be written");
    expect(self.keys).toEqual([key]);
    self.welcomed({ nodeName: "n2" });
    expect(self.name).toBe("n2");
    expect(lines.join()).toContain("identity.not_stored");
    rmSync(join(folder.path, "identity.json.new"), { recursive: true });
    rotated(self, key);
    expect(readFileSync(join(folder.path, "identity.json"), "utf8")).toContain('"name":"n2"');
  });
});
