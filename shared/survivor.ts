import * as z from "zod";

/** A process that lives on after the leader of its command. */
export const survivor = z.object({ pid: z.int32(), command: z.string() });
export type Survivor = z.infer<typeof survivor>;
