import { describe, expect, it } from "vitest";
import { age, layOut, printable, short, size, type Column } from "../../cli/print.ts";

type Row = { name: string; state: string; text: string };
const columns: Column<Row>[] = [
  { title: "NAME", cell: (row) => row.name },
  { title: "STATE", cell: (row) => row.state, paint: () => "green" },
  { title: "TEXT", cell: (row) => row.text },
];
const rows: Row[] = [
  { name: "a", state: "running", text: "one" },
  { name: "longer-name", state: "ok", text: "a rather long text at the end" },
];

describe("a table", () => {
  it("lines its columns up, without spaces at the end", () => {
    expect(layOut(columns, rows, { colours: false, width: Infinity })).toEqual([
      "NAME         STATE    TEXT",
      "a            running  one",
      "longer-name  ok       a rather long text at the end",
    ]);
  });

  it("cuts the last column to the terminal, and nothing where there is none", () => {
    expect(layOut(columns, rows, { colours: false, width: 34 })[2]).toBe(
      "longer-name  ok       a rather lo…",
    );
  });

  it("has its colours around the text, so the columns stay where they are", () => {
    expect(layOut(columns, rows, { colours: true, width: 80 })[1]).toBe(
      "a            \u001b[32mrunning\u001b[0m  one",
    );
  });

  it("of nothing is its head", () => {
    expect(layOut(columns, [], { colours: false, width: 80 })).toEqual(["NAME  STATE  TEXT"]);
  });
});

describe("what is printed", () => {
  it("cannot steer the terminal", () => {
    expect(printable("a\u001b[2Jb\nc\u009bd")).toBe("a [2Jb c d");
  });

  it.each([
    [0, "0s"],
    [999, "0s"],
    [59_999, "59s"],
    [60_000, "1m"],
    [7_200_000, "2h"],
    [90_000_000, "1d"],
    [-5, "0s"],
  ])("%i ms is %s", (ms, text) => expect(short(ms)).toBe(text));

  it("an age is `-` when it never was", () => {
    expect(age(null, 0)).toBe("-");
    expect(age("1970-01-01T00:00:01Z", 61_000)).toBe("1m");
  });

  it.each([
    [0, "0B"],
    [1023, "1023B"],
    [1536, "1.5K"],
    [10 * 1024 ** 2, "10M"],
    [3 * 1024 ** 4, "3.0T"],
  ])("%i bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));
});
