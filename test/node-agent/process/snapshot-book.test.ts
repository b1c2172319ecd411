import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SnapshotBook } from "../../../node-agent/process/snapshot-book.ts";
import { streamFolder, type StreamFolder } from "./stream-folder.ts";

let stream: StreamFolder;
let book: SnapshotBook;
beforeEach(() => {
  stream = streamFolder("one\n");
  book = new SnapshotBook(stream.folder, "merged");
});
afterEach(() => stream.remove());

const heads = (revision: number): string[] =>
  book.read(revision).snapshots.map(({ head }) => Buffer.from(head, "base64").toString());

describe("head and tail of a process", () => {
  it("are told until they are acknowledged, and again when the stream has grown", () => {
    expect(heads(1)).toEqual(["one\n"]);
    expect(heads(2)).toEqual(["one\n"]);
    book.acknowledged(2);
    expect(heads(3)).toEqual([]);
    stream.write("two\n");
    expect(heads(4)).toEqual(["one\ntwo\n"]);
  });

  it("are not taken for stored when a revision that was stored is told again with more", () => {
    expect(heads(1)).toEqual(["one\n"]);
    book.acknowledged(1);
    stream.write("two\n");
    // On a new line everything alive is told again; what is not newer is acknowledged and not stored.
    expect(heads(1)).toEqual(["one\ntwo\n"]);
    book.acknowledged(1);
    expect(heads(2)).toEqual(["one\ntwo\n"]);
  });

  it("count as told first when the line broke before the acknowledgement", () => {
    expect(heads(1)).toEqual(["one\n"]);
    stream.write("two\n");
    expect(heads(1)).toEqual(["one\ntwo\n"]);
    book.acknowledged(1);
    expect(heads(2)).toEqual(["one\ntwo\n"]);
  });
});
