type Send = (path: string, init: RequestInit) => Response | Promise<Response>;
type Ask = { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal };

/** A browser, as far as signing in goes: it keeps the cookies that it gets, and says from which origin it asks. */
export class Browser {
  readonly #send: Send;
  readonly #origin: string;
  readonly #cookies = new Map<string, string>();
  /** What was said last about cookies. */
  setCookie = "";

  constructor(send: Send, origin: string) {
    this.#send = send;
    this.#origin = origin;
  }

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** As a page of the console asks; headers of its own say that it is another page. */
  async fetch(request: string, { body, headers, signal }: Ask = {}): Promise<Response> {
    const [verb = "GET", path = "/"] = request.split(" ");
    const response = await this.#send(path, {
      method: verb,
      headers: {
        cookie: this.cookie,
        ...(verb === "GET" ? { "sec-fetch-site": "same-origin" } : { origin: this.#origin }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      redirect: "manual",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    return response;
  }

  async status(request: string, ask?: Ask): Promise<number> {
    const response = await this.fetch(request, ask);
    await response.body?.cancel();
    return response.status;
  }

  #keep(line: string): void {
    this.setCookie = line;
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (/max-age=0/i.test(line)) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}
