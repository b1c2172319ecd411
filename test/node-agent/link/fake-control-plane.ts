import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { upFrame, type DownFrame, type UpFrame } from "#shared/link/frames.ts";

type Kind = UpFrame["type"];
type FrameOf<K extends Kind> = Extract<UpFrame, { type: K }>;
type Answer = { status: number; body: unknown };

/** The far end of one agent socket: everything it said is checked against the protocol and kept. */
export class AgentEnd {
  readonly frames: UpFrame[] = [];
  readonly closed: Promise<number>;
  readonly socket: WebSocket;
  answersPings = true;
  #taken = 0;
  #wake: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = once(socket, "close").then(([code]) => Number(code));
    socket.on("message", (data: Buffer) => {
      const frame = upFrame.parse(JSON.parse(data.toString("utf8")));
      this.frames.push(frame);
      if (frame.type === "ping" && this.answersPings) this.send({ type: "pong" });
      this.#wake();
    });
    void this.closed.then(() => this.#wake());
  }

  send(...frames: DownFrame[]): void {
    for (const frame of frames) this.socket.send(JSON.stringify(frame));
  }

  welcome(): void {
    this.send({ type: "welcome", nodeId: "node_1", nodeName: "n1", epoch: 1 });
  }

  /** The next frame of this kind after those taken before. */
  async next<K extends Kind>(type: K): Promise<FrameOf<K>> {
    for (;;) {
      while (this.#taken < this.frames.length) {
        const frame = this.frames[this.#taken++];
        if (frame?.type === type) return frame as FrameOf<K>;
      }
      if (this.socket.readyState > 1)
        throw new Error(`the agent's socket closed before a ${type} frame came`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** Plays the control plane on loopback: enrolments are answered by `onEnroll`, sockets are handed out by `agent()`. */
export class FakeControlPlane {
  readonly enrolments: { body: Record<string, unknown> }[] = [];
  readonly authorizations: (string | undefined)[] = [];
  onEnroll: (body: Record<string, unknown>) => Answer | "hang up" = (body) => ({
    status: 201,
    body: { nodeId: "node_1", name: body.name },
  });
  /** An HTTP status instead of a socket. */
  refuseWith: number | undefined;
  /** Keys that nobody has. */
  readonly unknownKeys = new Set<string>();
  #arrived: AgentEnd[] = [];
  #wake: () => void = () => undefined;
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  readonly #http = createServer((request, response) => {
    void this.#enroll(request).then((answer) => {
      if (answer === "hang up") return request.socket.destroy();
      response
        .writeHead(answer.status, { "content-type": "application/json" })
        .end(JSON.stringify(answer.body));
    });
  });

  async listen(port = 0): Promise<this> {
    this.#http.on("upgrade", (request, socket, head) => {
      // An agent that was refused drops the connection.
      socket.on("error", () => undefined);
      this.authorizations.push(request.headers.authorization);
      const isUnknown = this.unknownKeys.has(request.headers.authorization?.split(".")[1] ?? "");
      const status = isUnknown ? 401 : this.refuseWith;
      if (status !== undefined) return socket.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\n\r\n`);
      this.#sockets.handleUpgrade(request, socket, head, (opened) => {
        this.#arrived.push(new AgentEnd(opened));
        this.#wake();
      });
    });
    await once(this.#http.listen(port, "127.0.0.1"), "listening");
    return this;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The next socket an agent opens. */
  async agent(): Promise<AgentEnd> {
    for (;;) {
      const end = this.#arrived.shift();
      if (end) return end;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The next socket, greeted. */
  async welcomed(): Promise<AgentEnd> {
    const end = await this.agent();
    await end.next("hello");
    end.welcome();
    return end;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    if (this.#http.listening) await new Promise((resolve) => this.#http.close(resolve));
  }

  async #enroll(request: IncomingMessage): Promise<Answer | "hang up"> {
    let text = "";
    for await (const part of request) text += String(part);
    const body = JSON.parse(text) as Record<string, unknown>;
    this.enrolments.push({ body });
    return this.onEnroll(body);
  }
}
