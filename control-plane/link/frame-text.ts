import { closeCodes, maxFrameBytes, protocolVersion } from "#shared/link/limits.ts";
import { type UpFrame, upFrame } from "#shared/link/frames.ts";

export type Refusal = { code: number; reason: string };
export type ParsedFrame = { frame: UpFrame } | { refusal: Refusal };

const invalidFrame = 1008;
const frameTooLarge = 1009;

// Three of four frames of an idle fleet are this one, letter by letter.
const pingText = JSON.stringify({ type: "ping" });
const ping: ParsedFrame = { frame: { type: "ping" } };

/** A frame out of its text, or why its connection must close (1008, 1009 or a version mismatch). */
export function parseFrame(text: string): ParsedFrame {
  if (text === pingText) return ping;
  if (!fitsInFrame(text)) return refused(frameTooLarge, `a frame has at most ${maxFrameBytes} bytes`);
  const value = json(text);
  // Looked at before the shape: another protocol's hello may have any shape, and deserves the true reason.
  const version = helloVersion(value);
  if (version !== undefined && version !== protocolVersion)
    return refused(
      closeCodes.versionMismatch,
      `this control plane speaks protocol ${protocolVersion}, the agent ${JSON.stringify(version)}`,
    );
  const parsed = upFrame.safeParse(value);
  if (parsed.success) return { frame: parsed.data };
  const issue = parsed.error.issues[0];
  return refused(
    invalidFrame,
    `invalid frame: ${issue?.path.join(".") || "type"}: ${issue?.message ?? "unknown"}`,
  );
}

/** Whether a text is short enough for one frame (counted in bytes of UTF-8). */
export function fitsInFrame(text: string): boolean {
  if (text.length * 3 <= maxFrameBytes) return true;
  return text.length <= maxFrameBytes && new TextEncoder().encode(text).length <= maxFrameBytes;
}

/** A close reason within the 123 bytes of the WebSocket protocol. */
export function closeReason(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, "?");
  return plain.length <= 123 ? plain : `${plain.slice(0, 120)}...`;
}

const refused = (code: number, reason: string): ParsedFrame => ({
  refusal: { code, reason: closeReason(reason) },
});

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No frame is undefined, so the shape check refuses it like any other text.
    return undefined;
  }
}

function helloVersion(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return "type" in value && value.type === "hello" && "protocol" in value ? value.protocol : undefined;
}
