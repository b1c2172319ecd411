/**
 * Runs the CLI with the words behind its name and answers its exit code. The agent lives for months on machines that have
 * better uses for memory: it reads its own words, and nothing of the other verbs is loaded for it.
 */
export async function main(argv: string[]): Promise<number> {
  const [verb, ...words] = argv;
  if (verb === "agent") return (await import("../node-agent/main.ts")).runAgent(words, process.env);
  return (await import("./program.ts")).runProgram(argv);
}
