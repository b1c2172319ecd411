import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../../node-agent/config.ts";

const read = (argv: string[], env: Record<string, string> = {}) => readConfig(argv, env);

describe("the agent's settings", () => {
  it("come from the environment, and from flags before it", () => {
    const env = {
      DROVER_URL: "http://a:1/",
      DROVER_JOIN_TOKEN: "J",
      DROVER_AGENT_NAME: "n1",
      DROVER_AGENT_DATA_DIR: "/data",
    };
    expect(read([], env)).toEqual({
      url: "http://a:1",
      joinToken: "J",
      name: "n1",
      labels: {},
      dataFolder: "/data",
      maxProcesses: 256,
      stopProcesses: false,
      logFormat: "pretty",
    });
    const flags = [
      "--url",
      "https://b/x/",
      "--token=K",
      "--name",
      "n2",
      "--label",
      "a=1",
      "--label",
      "b=",
      "--data-dir",
      "/other",
      "--max-processes",
      "3",
      "--stop-processes",
    ];
    expect(read(flags, env)).toEqual({
      url: "https://b/x",
      joinToken: "K",
      name: "n2",
      labels: { a: "1", b: "" },
      dataFolder: "/other",
      maxProcesses: 3,
      stopProcesses: true,
      logFormat: "pretty",
    });
  });

  it("that are empty count as unset", () => {
    expect(
      read([], { DROVER_URL: "", DROVER_JOIN_TOKEN: "", DROVER_AGENT_NAME: "", DROVER_LOG: "" }),
    ).toMatchObject({ url: undefined, joinToken: undefined, name: undefined });
  });

  it("have a data folder by default", () => {
    const isRoot = process.getuid?.() === 0;
    expect(read([])?.dataFolder).toBe(
      isRoot ? "/var/lib/drover-agent" : join(homedir(), ".local/share/drover-agent"),
    );
    if (!isRoot) expect(read([], { XDG_DATA_HOME: "/x" })?.dataFolder).toBe("/x/drover-agent");
  });

  it("give help instead when it is asked for", () => {
    expect(read(["--help"])).toBeUndefined();
  });

  it.each([
    [["--url", "ftp://a"], "--url: must be an http:// or https:// address"],
    [["--url", "drover.example"], "--url: must be an http:// or https:// address"],
    [["--url", "http://u:p@a"], "--url: must be an address only"],
    [["--url", "http://a?token=x"], "--url: must be an address only"],
    [["--name", "a b"], "--name: a name has 1 to 63 letters"],
    [["--name", "node_x"], "--name: must not start with node_"],
    [["--label", "novalue"], '--label: "novalue" is not key=value'],
    [["--label", "=x"], '--label: "=x" is not key=value'],
    [["--label", "!=x"], "--label:"],
    [["--max-processes", "0"], "--max-processes: must be from 1 to 100000"],
    [["--max-processes", "1.5"], "--max-processes: must be a whole number"],
    [["--max-processes", "-1"], "--max-processes"],
    [["--nope"], "Unknown option '--nope'"],
    [["install"], "Unexpected argument 'install'"],
  ])("%j are refused by one line", (argv, message) => {
    let line = "";
    try {
      read(argv);
    } catch (error) {
      line = (error as Error).message;
    }
    expect(line).toContain(message);
    expect(line).not.toContain("\n");
  });

  it("with a wrong log format are refused", () => {
    expect(() => read([], { DROVER_LOG: "loud" })).toThrow("DROVER_LOG: must be json or pretty");
  });
});
