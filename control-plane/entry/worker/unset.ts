import { SettingError } from "../settings.ts";

/** A deployment without its settings answers all with what is to be set; it has no token by which to know who asks. */
export const unset = (error: unknown): Response => {
  if (!(error instanceof SettingError)) throw error;
  const body = {
    type: "urn:drover:problem:unavailable",
    title: "Not available right now",
    status: 503,
    code: "unavailable",
    detail: error.message,
    requestId: "",
  };
  return new Response(JSON.stringify(body), {
    status: 503,
    headers: { "content-type": "application/problem+json" },
  });
};
