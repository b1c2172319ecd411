import type { Answer } from "../sdk/failure.ts";
import { exitCodeOfFailure, exitCodes } from "./exit-code.ts";
import { say, tell } from "./write.ts";

/** Does one thing to each of several, tells of each, and answers the code of the first that failed. */
export async function each<T>(
  names: string[],
  act: (name: string) => Promise<Answer<T>>,
  show: (value: T) => string,
): Promise<number> {
  let code: number = exitCodes.ok;
  for (const name of names) {
    const answer = await act(name);
    if (answer.ok) await say(`${name} ${show(answer.value)}`);
    else {
      await tell(`drover: ${name}: ${answer.failure.message}`);
      code ||= exitCodeOfFailure(answer.failure);
    }
  }
  return code;
}
