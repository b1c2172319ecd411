import { defaultPolicy } from "#shared/api/policy.ts";
import { judgeStart } from "#shared/guard/judge-start.ts";
import type { Figure } from "../figure.ts";
import { median } from "../statistics.ts";

const commands = [
  "npm ci && npm test",
  "rm -rf node_modules && git pull --rebase origin main | tail -5",
  "for i in $(seq 1 50); do echo row$i; done; exit 4",
  "find . -name '*.log' -mtime +7 -print0 | xargs -0 rm -f",
  'cd "$HOME/app" && docker compose up -d 2>&1 | tee /tmp/up.log',
  "cat <<'EOF' > notes.txt\nrm -rf / is bad\nEOF",
  "grep -rn 'reboot' /var/log | head",
  "cd / && rm -rf *",
  'D=/; sudo sh -c "rm -rf $D"',
  'bash -c \'bash -c "rm -rf \\"$HOME\\""\'',
  ":(){ :|:& };:",
  "echo 'no end",
];
const hostile = ["$(", '"$(', "(", "{ ", "<(", "${a:-", "`\\`", "cat <<A ", "if ", "f()f()"];
const rounds = 9;
const batch = 2000;
// Short enough to be parsed as a whole, just so, and as long as a command may be.
const hostileChars = [20_000, 120_000, 1024 * 1024 - 10];

/** How many commands a second the guard judges, and how long the worst text holds up its thread. */
export const guard: Figure = {
  name: "guard",
  take(bench) {
    const rates = Array.from({ length: bench.times(rounds, 3) + 1 }, () => {
      const from = performance.now();
      for (let at = 0; at < batch; at++)
        judgeStart({ command: commands[at % commands.length], cwd: "/srv/app" }, defaultPolicy);
      return (batch * 1000) / (performance.now() - from);
    });
    const texts = hostile.flatMap((unit) =>
      hostileChars.map((chars) => `${unit.repeat(chars / unit.length)}\nrm -rf x`),
    );
    const worst = texts.map((command) => {
      const from = performance.now();
      judgeStart({ command }, defaultPolicy);
      return performance.now() - from;
    });
    return Promise.resolve([
      { name: "verdicts, one thread", value: median(rates.slice(1)), unit: "/s", goal: { atLeast: 5000 } },
      { name: "slowest verdict on a hostile text", value: Math.max(...worst), unit: "ms" },
    ]);
  },
};
