import type { Context } from "hono";
import type { AppEnv } from "./route.ts";

/** A page of HTML that is a constant: its scripts and styles are known by their digests, and nothing else of it runs. */
export type Page = { html: string; policy: string };

/** Works out the policy of a page: its own inline scripts and styles and nothing from elsewhere; it may ask this origin. */
export const page = async (html: string): Promise<Page> => {
  const [scripts, styles] = await Promise.all([digestsOf(html, "script"), digestsOf(html, "style")]);
  const policy = [
    "default-src 'none'",
    `script-src ${scripts}`,
    `style-src ${styles}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { html, policy };
};

export const showPage = (c: Context<AppEnv>, { html, policy }: Page): Response | Promise<Response> => {
  c.header("content-security-policy", policy);
  c.header("cross-origin-opener-policy", "same-origin");
  return c.html(html);
};

const digestsOf = async (html: string, tag: "script" | "style"): Promise<string> => {
  const texts = [...html.matchAll(new RegExp(`<${tag}>([^]*?)</${tag}>`, "g"))].map(([, text = ""]) => text);
  const digests = await Promise.all(texts.map(digestOf));
  return digests.length === 0 ? "'none'" : digests.join(" ");
};

const digestOf = async (text: string): Promise<string> => {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(bytes)))}'`;
};
