/**
 * What each answer tells a browser, whoever gave it: its type is what it says, no page of another origin may frame or embed it, no
 * link out of it says where it was, nobody keeps it. There is nothing to load or run in what is no page, so it may load
 * and run nothing; a page says what it needs (page.ts).
 */
export const securityHeaders = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;
