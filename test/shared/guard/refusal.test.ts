import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusal, refusalOfArgv } from "#shared/guard/refusal.ts";

const refusedBy: Record<string, string[]> = {
  remove_system: [
    "rm -r -f /",
    "rm --recursive --force /",
    "rm -fr -- /",
    "rm / -rf",
    "rm --rec /",
    "rm -R /usr/*",
    "rm -rf /*",
    "rm -rf /.*",
    "rm -rf /e*",
    "rm -rf /[a-z]*",
    "rm -rf {/,/tmp/x}",
    "rm -rf /./../",
    "rm -rf /tmp/..",
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~root",
    'rm -rf "$HOME"',
    'rm -rf "${HOME}"/*',
    "rm -rf ${HOME:?}",
    "rm -rf /home/bob",
    "rm -rf /home/$USER",
    "/bin/rm -rf /",
    "\\rm -rf /",
    "'rm' -rf /",
    'r""m -rf /',
    "rm -rf $'/'",
    "rm -rf \\\n /",
    "X=1 rm -rf /",
    "a=$(rm -rf /)",
    "sudo rm -rf --no-preserve-root /",
    "sudo -u root -i rm -rf /",
    "doas rm -rf /",
    "env -i A=b rm -rf /",
    "env -S 'rm -rf /'",
    "nohup rm -rf /",
    "nice -n 5 rm -rf /",
    "timeout -k 5 10s rm -rf /",
    "xargs -n 1 rm -rf /",
    "echo / | xargs rm -rf",
    "command rm -rf /",
    "exec rm -rf /",
    "builtin rm -rf /",
    "setsid -f rm -rf /",
    "busybox rm -rf /",
    "find / -delete",
    "find ~ -type f -delete",
    "find / -exec rm {} \\;",
    "find . -exec sh -c 'rm -rf /' \\;",
    'bash -c "rm -rf $HOME"',
    `bash -c 'bash -c "rm -rf \\"\\$HOME\\""'`,
    "printf 'rm -rf /\\n' | bash -s",
    "trap 'rm -rf /' EXIT",
  ],
  make_filesystem: ["mkfs.ext4 /dev/sdz9", "mkfs -t xfs /dev/vdb", "/sbin/mke2fs /dev/sda1"],
  raw_disk_write: [
    "dd if=/dev/zero of=/dev/sdz9",
    "dd of=/dev/mmcblk0p1",
    "dd if=x of=/dev/sd$X",
    "> /dev/sda",
    "> /dev/nvme0n1",
    "cat x >> /dev/vda1",
    "{ cat; } > /dev/sda",
    "echo x > /dev/mem",
    "cp x /dev/sda",
    "cat x | sudo tee /dev/sda",
    "shred -n 1 /dev//sda",
    "wipefs -a /dev/sda",
  ],
  power: [
    "shutdown -h now",
    "reboot",
    "/sbin/poweroff",
    "halt",
    "init 0",
    "telinit 6",
    "true; systemctl reboot",
    "systemctl --force --force kexec",
    "systemctl isolate reboot.target",
    'bash -c "shutdown now"',
    "bash -o pipefail -lc reboot",
    "bash --norc -c -- reboot",
    "ls\nreboot",
    "( reboot )",
    "! reboot",
    "time reboot",
    "reboot &",
    "coproc reboot",
    "eval 'reboot'",
    "echo $(reboot)",
    "echo `reboot`",
    "cat <(reboot)",
    "if [ -f x ]; then reboot; fi",
    "while :; do reboot; done",
    "case a in a) reboot;; esac",
    "f() { reboot; }",
    "bash <<EOF\nreboot\nEOF",
    "{ bash; } <<EOF\nreboot\nEOF",
    "sh <<< 'reboot'",
    "echo reboot | sh",
    "su - root -c 'reboot'",
    "echo b > /proc/sysrq-trigger",
  ],
  fork_bomb: [
    ":(){ :|:& };:",
    "bomb() { bomb | bomb & }; bomb",
    "function b { b|b& }; b",
    "f(){ f & f & }; f",
  ],
  recursive_mode: ["chmod -R 777 /", "chown -hR me /etc", "chgrp --recursive x /usr/", "chmod 0 -R /*"],
};

const allowed = [
  "grep 'reboot now' f",
  'echo "rm -rf /"',
  "rm -rf ./node_modules",
  "rm -rf node_modules",
  "rm -rf /tmp/x",
  "rm -rf /var/tmp/build",
  'rm -rf "$DIR"/x',
  'rm -rf "$DIR"/',
  "rm -rf ~/x",
  'rm -rf "$HOME/.cache"',
  "rm -rf '~'",
  "rm -f /etc/hosts",
  "rm -rf dist build/*",
  "dd if=/dev/zero of=/dev/null count=1 2>/dev/null",
  "dd if=/dev/sda of=./image",
  "ls > /dev/null 2>&1",
  "cat > /dev/stdout",
  "echo x > /dev/tty",
  "echo x | tee /dev/stderr",
  "cp /dev/sda image",
  "cp x /dev/shm/y",
  "find /var -name '*.log' -delete",
  "find . -delete",
  "chown -R www /var/www",
  "chown -R me ~",
  "mkfs.ext4 --help",
  "shutdown -c",
  "systemctl status reboot.target",
  "systemctl restart nginx",
  "git init",
  "npm init 0",
  "git commit -m 'rm -rf / is bad'",
  "cat <<EOF\nrm -rf /\nEOF",
  "cat > f <<'EOF'\nreboot\nEOF",
  "# rm -rf /\ntrue",
  "sudo grep reboot /var/log/syslog",
  "timeout 5 grep reboot f",
  "command -v reboot",
  "[ -f /var/run/reboot-required ] && echo yes",
  "python3 -c 'print(\"reboot\")'",
  "printf '%s' 'rm -rf /' | cat",
  "f(){ ls | wc & }; f",
  "loop() { work; sleep 1; loop & }",
  "if true",
];

describe("the guard", () => {
  for (const [rule, commands] of Object.entries(refusedBy)) {
    test.each(commands)(`refuses by ${rule}: %j`, (command) => {
      expect(refusal(command)?.rule).toBe(rule);
      // The end of a heredoc stands alone on its line.
      const inGroup = command.endsWith("EOF") ? `false && { ${command}\n}` : `false && { ${command} ; }`;
      expect(refusal(inGroup)?.rule).toBe(rule);
    });
  }

  test.each(allowed)("leaves alone: %j", (command) => {
    expect(refusal(command)).toBeUndefined();
  });

  test("says in one sentence what it found and that rephrasing will not help", () => {
    expect(refusal('rm -rf "$HOME"')).toEqual({
      rule: "remove_system",
      reason:
        "The command would remove ~ with all that is in it, which this policy refuses however it is spelled, so rephrasing it will not help.",
    });
  });

  test("judges an argv as it stands, and a shell text in it as a shell would", () => {
    expect(refusalOfArgv(["rm", "-rf", "/"])?.rule).toBe("remove_system");
    expect(refusalOfArgv(["sudo", "sh", "-c", "true; reboot"])?.rule).toBe("power");
    expect(refusalOfArgv(["rm", "-rf", "*", "~"])).toBeUndefined();
    expect(refusalOfArgv(["echo", "rm -rf /"])).toBeUndefined();
    expect(refusalOfArgv([])).toBeUndefined();
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
