import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusal, refusalOfArgv } from "#shared/guard/refusal.ts";
import { allowedCommands } from "./allowed-commands.ts";
import { refusedBy } from "./refused-commands.ts";

describe("the guard", () => {
  for (const [rule, commands] of Object.entries(refusedBy)) {
    test.each(commands)(`refuses by ${rule}: %j`, (command) => {
      expect(refusal(command)?.rule).toBe(rule);
      // The end of a heredoc stands alone on its line.
      const inGroup = command.endsWith("EOF") ? `false && { ${command}\n}` : `false && { ${command} ; }`;
      expect(refusal(inGroup)?.rule).toBe(rule);
    });
  }

  test.each(allowedCommands)("leaves alone: %j", (command) => {
    expect(refusal(command)).toBeUndefined();
  });

  test("says in one sentence what it found, and whom to ask instead of rephrasing it", () => {
    expect(refusal('rm -rf "$HOME"')).toEqual({
      rule: "remove_system",
      reason: "The command would remove ~ with all that is in it.",
      advice: expect.stringMatching(/Do not rephrase .* ask a person/),
    });
  });

  test("judges an argv as it stands, and a shell text in it as a shell would", () => {
    expect(refusalOfArgv(["rm", "-rf", "/"])?.rule).toBe("remove_system");
    expect(refusalOfArgv(["sudo", "sh", "-c", "true; reboot"])?.rule).toBe("power");
    expect(refusalOfArgv(["rm", "-rf", "*", "~"])).toBeUndefined();
    expect(refusalOfArgv(["echo", "rm -rf /"])).toBeUndefined();
    expect(refusalOfArgv([])).toBeUndefined();
  });

  test("sees paths from the folder that the command runs in", () => {
    for (const command of [
      "rm -rf *",
      "rm -rf .",
      "sudo rm -rf ./*",
      "find -delete",
      "cd x/.. && rm -rf .",
    ]) {
      expect(refusal(command, { cwd: "/" })?.rule).toBe("remove_system");
      expect(refusal(command, { cwd: "/home/bob" })?.rule).toBe("remove_system");
      expect(refusal(command, { cwd: "/home/bob/project" })).toBeUndefined();
      expect(refusal(command)).toBeUndefined();
    }
    expect(refusalOfArgv(["rm", "-rf", ".."], { cwd: "/usr" })?.rule).toBe("remove_system");
    expect(refusalOfArgv(["rm", "-rf", ".."], { cwd: "/srv/app/x" })).toBeUndefined();
  });

  test("knows the variables and the input that the start itself gives", () => {
    expect(refusal('rm -rf "$D"', { env: { D: "/" } })?.rule).toBe("remove_system");
    expect(refusal('rm -rf "$HOME"', { env: { HOME: "/tmp/home" } })).toBeUndefined();
    expect(refusal("sh", { stdin: "cd /tmp\nreboot" })?.rule).toBe("power");
    expect(refusalOfArgv(["sudo", "bash", "-s"], { stdin: "rm -rf /" })?.rule).toBe("remove_system");
    expect(refusal("cat > notes", { stdin: "rm -rf /" })).toBeUndefined();
  });

  test.each([
    ["echo 'unclosed\nrm -rf /", "remove_system"],
    [") ; rm -rf /", "remove_system"],
    ["if true; sudo reboot", "power"],
    ["( dd if=x of=/dev/sda", "raw_disk_write"],
    ["((; cat > /dev/sda", "raw_disk_write"],
    ["if :(){ :|:& };:", "fork_bomb"],
  ])("falls back to a scan by words where the text does not parse: %j", (command, rule) => {
    expect(refusal(command)?.rule).toBe(rule);
  });

  const size = 1024 * 1024;
  const hostile = [
    "$(",
    '"$(',
    "(",
    "{ ",
    "<(",
    "${a:-",
    "`\\`",
    "cat <<A ",
    "if ",
    "f(){ ",
    "coproc ",
    "f()f()",
  ];
  test.each(hostile)("finds a removal before and after 1 MiB of %j", (unit) => {
    const filler = unit.repeat(Math.ceil(size / unit.length)).slice(0, size - 16);
    expect(refusal(`rm -rf /\n${filler}`)?.rule).toBe("remove_system");
    expect(refusal(`${filler}\nrm -rf /`)?.rule).toBe("remove_system");
  });

  test("reads a long script by its lines, so that data in it stays data", () => {
    const lines = "echo a line of a long script\n".repeat(10_000);
    expect(refusal(`${lines}echo "rm -rf /"\n`)).toBeUndefined();
    expect(refusal(`${lines}sudo rm -rf /\n`)?.rule).toBe("remove_system");
  });

  test("never throws and never refuses what names nothing dangerous", () => {
    const signs = "ab $(){}[]<>|&;'\"\\`\n!#*?~=:,".split("");
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...signs), { maxLength: 80 }), (chars) => {
        // These letters spell no command that a rule knows; a fork bomb they may spell.
        expect([undefined, "fork_bomb"]).toContain(refusal(chars.join(""))?.rule);
      }),
    );
  });

  test("never throws on dangerous words in any broken grammar", () => {
    const words =
      "rm -rf / reboot $( ) ' \" { } <<E \n ; | & f() ` ${ > /dev/sda find -exec eval xargs".split(" ");
    const pieces = fc.array(fc.constantFrom(...words), { maxLength: 30 });
    fc.assert(
      fc.property(pieces, fc.constantFrom("", " "), (chosen, gap) => {
        expect(() => refusal(chosen.join(gap))).not.toThrow();
      }),
    );
  });
});
