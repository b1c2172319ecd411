import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

type Asked = { nonce: string; challenge: string; redirectUri: string };
type Reply = { status?: number; body?: unknown; location?: string };

/**
 * A small OpenID provider on loopback: it lets the person in `claims` in without a question. Its tokens are signed; codes are good
 * once and bound to their PKCE challenge. A test changes what it does in `behaves`.
 */
export class OidcProvider {
  readonly clientId = "drover";
  readonly clientSecret = "the client's secret";
  claims: Record<string, unknown> = { sub: "42", preferred_username: "ada", groups: ["devs"] };
  behaves: { denies?: boolean; signsWithAnotherKey?: boolean; nonce?: string; audience?: string } = {};
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #codes = new Map<string, Asked>();
  #keys: CryptoKeyPair[] = [];

  static async start(): Promise<OidcProvider> {
    const provider = new OidcProvider();
    provider.#keys = await Promise.all([newKeys(), newKeys()]);
    await new Promise<void>((resolve) => provider.#server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The settings of a control plane that asks it. */
  get settings(): Record<string, string> {
    return {
      DROVER_OIDC_ISSUER: this.issuer,
      DROVER_OIDC_CLIENT_ID: this.clientId,
      DROVER_OIDC_CLIENT_SECRET: this.clientSecret,
      DROVER_OIDC_ROLES: "devs=operator",
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.issuer);
    const { status = 200, body, location } = await this.#answer(url, request);
    response.writeHead(location === undefined ? status : 302, {
      "content-type": "application/json",
      ...(location === undefined ? {} : { location }),
    });
    response.end(body === undefined ? "" : JSON.stringify(body));
  }

  async #answer({ pathname, searchParams }: URL, request: IncomingMessage): Promise<Reply> {
    if (pathname === "/.well-known/openid-configuration") return { body: this.#description() };
    if (pathname === "/keys") return { body: { keys: [await publicKey(this.#keys[0])] } };
    if (pathname === "/authorize") return { location: this.#authorize(searchParams) };
    if (pathname === "/token") return this.#token(request, new URLSearchParams(await text(request)));
    return { status: 404 };
  }

  #description(): object {
    const { issuer } = this;
    return {
      ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
      ...{ jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: ["RS256"] },
    };
  }

  #authorize(asked: URLSearchParams): string {
    const redirectUri = asked.get("redirect_uri") ?? "";
    const back = new URL(redirectUri);
    back.searchParams.set("state", asked.get("state") ?? "");
    if (this.behaves.denies === true) back.searchParams.set("error", "access_denied");
    else {
      const code = randomUUID();
      const challenge = asked.get("code_challenge_method") === "S256" ? asked.get("code_challenge") : null;
      this.#codes.set(code, { nonce: asked.get("nonce") ?? "", challenge: challenge ?? "none", redirectUri });
      back.searchParams.set("code", code);
    }
    return back.href;
  }

  async #token(request: IncomingMessage, form: URLSearchParams): Promise<Reply> {
    const secret = encodeURIComponent(this.clientSecret).replaceAll("%20", "+").replaceAll("'", "%27");
    const basic = Buffer.from(`${this.clientId}:${secret}`).toString("base64");
    if (request.headers.authorization !== `Basic ${basic}`)
      return { status: 401, body: { error: "invalid_client" } };
    const code = form.get("code") ?? "";
    const asked = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (asked?.challenge !== challenge || asked.redirectUri !== form.get("redirect_uri"))
      return { status: 400, body: { error: "invalid_grant" } };
    const idToken = await this.#idToken(asked.nonce);
    return { body: { access_token: "opaque", token_type: "bearer", id_token: idToken } };
  }

  async #idToken(nonce: string): Promise<string> {
    const seconds = Math.floor(Date.now() / 1000);
    const header = { alg: "RS256", kid: "key" };
    const claims = {
      ...{ iss: this.issuer, aud: this.behaves.audience ?? this.clientId, iat: seconds, exp: seconds + 60 },
      ...{ nonce: this.behaves.nonce ?? nonce, ...this.claims },
    };
    const signed = [header, claims].map((part) => base64url(JSON.stringify(part))).join(".");
    const keys = this.#keys[this.behaves.signsWithAnotherKey === true ? 1 : 0];
    if (keys === undefined) throw new Error("it is not started");
    const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", keys.privateKey, Buffer.from(signed));
    return `${signed}.${base64url(new Uint8Array(signature))}`;
  }
}

const newKeys = (): Promise<CryptoKeyPair> =>
  crypto.subtle.generateKey(
    {
      ...{ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048 },
      publicExponent: new Uint8Array([1, 0, 1]),
    },
    true,
    ["sign", "verify"],
  );

const publicKey = async (keys: CryptoKeyPair | undefined): Promise<object> => {
  if (keys === undefined) throw new Error("it is not started");
  const { kty, n, e } = await crypto.subtle.exportKey("jwk", keys.publicKey);
  return { kty, n, e, alg: "RS256", use: "sig", kid: "key" };
};

const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString("base64url");
