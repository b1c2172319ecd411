import { fromBase64, toBase64 } from "#shared/base64.ts";
import type { RequestFrame } from "#shared/link/frames.ts";
import type { Seal } from "../needs.ts";
import type { LetterOf } from "./letter.ts";

// What people type into a command may be a password. It lies in the database on its way, so it is sealed like the stdin text of a
// start; output is not, since the database keeps it in the open anyway.

/** The letter that asks this of a node. */
export async function sealedAsk(seal: Seal, ask: Omit<LetterOf<"ask">, "kind">): Promise<LetterOf<"ask">> {
  const { frame, talk } = ask;
  if (frame.type !== "stdin") return { kind: "ask", ...ask };
  const sealed = toBase64(await seal.seal(frame.b64, talk));
  return { kind: "ask", ...ask, frame: { ...frame, b64: "" }, sealed };
}

/** What is asked; undefined when whoever asks has another secret key. */
export async function openedFrame(
  seal: Seal,
  { frame, talk, sealed }: LetterOf<"ask">,
): Promise<RequestFrame | undefined> {
  if (frame.type !== "stdin" || sealed === undefined) return frame;
  try {
    return { ...frame, b64: await seal.open(fromBase64(sealed), talk) };
  } catch {
    // It fails for no other reason than that.
    return undefined;
  }
}
