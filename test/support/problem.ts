import { expect } from "vitest";

/** The document of a failure, whatever it says of it. */
export const problemDocument = (status: number, code: string) => ({
  type: `urn:drover:problem:${code}`,
  title: expect.any(String) as string,
  status,
  code,
  detail: expect.any(String) as string,
  requestId: expect.stringMatching(/^req_/) as string,
});
