import { api, ask, root } from "../api/client";
import { half, halfHeader } from "../session/half";
import type { LiveEvent } from "./patch";
import { messages, type Message } from "./sse";

export type StreamState = "connecting" | "live" | "lost";

const types: readonly string[] = [
  "device",
  "status",
  "folder",
  "config",
  "plan",
  "rollout",
  "pending",
  "inventory",
  "template",
  "agent",
  "missed",
] satisfies LiveEvent["type"][];
const restAfter = 30_000; // ms, of a hidden page
const askAfter = 5000; // ms, until the server is asked why it gave no stream
const retryAfter = 2000; // ms, until a stream that ended is opened again, unless the server says when
const retryLimit = 15_000; // ms

/**
 * Stream is the one connection for everything live. It rests while the page is hidden, since browsers allow few
 * connections to a server, and goes on after the last event once the page shows again.
 */
export class Stream {
  private source: AbortController | undefined;
  private last = "";
  private retry = retryAfter;
  private failures = 0; // in a row
  private resting: ReturnType<typeof setTimeout> | undefined; // of a hidden page, until the connection is closed
  private opening: ReturnType<typeof setTimeout> | undefined; // of a lost connection, until the server is asked
  private ended = false;

  constructor(
    private readonly onEvent: (event: LiveEvent) => void,
    private readonly onState: (state: StreamState) => void,
  ) {
    document.addEventListener("visibilitychange", this.visibility);
    this.open();
  }

  close() {
    this.ended = true;
    document.removeEventListener("visibilitychange", this.visibility);
    this.rest();
  }

  private readonly visibility = () => {
    clearTimeout(this.resting);
    if (document.hidden) this.resting = setTimeout(() => this.rest(), restAfter);
    else this.open();
  };

  private rest() {
    clearTimeout(this.resting);
    clearTimeout(this.opening);
    this.source?.abort();
    this.source = undefined;
  }

  /** open does nothing while there is a connection: the page that shows and the server that is back both ask for it. */
  private open() {
    if (this.ended || this.source) return;
    clearTimeout(this.opening);
    this.onState("connecting");
    const source = new AbortController();
    this.source = source;
    void this.follow(source);
  }

  /** follow reads a stream until it ends. A stream that breaks off is opened again, later after each failure. */
  private async follow(source: AbortController) {
    try {
      const response = await fetch(`${root}/api/v1/events`, {
        headers: { [halfHeader]: half.now(), ...(this.last ? { "Last-Event-ID": this.last } : {}) },
        credentials: "same-origin",
        signal: source.signal,
      });
      if (source.signal.aborted) return;
      if (!response.ok || !response.body) {
        this.onState("lost");
        this.openLater();
        return;
      }
      this.onState("live");
      for await (const message of messages(response.body)) this.tell(message);
    } catch {
      // The connection broke off.
    }
    if (source.signal.aborted) return;
    this.onState("lost");
    this.rest();
    if (document.hidden) return; // it opens once it shows
    this.opening = setTimeout(() => this.open(), Math.min(this.retry * 2 ** this.failures++, retryLimit));
  }

  private tell(message: Message) {
    this.failures = 0;
    this.last = message.id || this.last;
    this.retry = message.retry || this.retry;
    if (message.data !== "" && types.includes(message.type)) this.onEvent(JSON.parse(message.data) as LiveEvent);
  }

  /** After an error status the server is asked by whoami, which asks for the log-in where the session has ended. */
  private openLater() {
    this.rest();
    if (document.hidden) return; // it opens once it shows
    this.opening = setTimeout(() => void this.askServer(), askAfter);
  }

  private async askServer() {
    const isBack = await ask(api.GET("/api/v1/whoami")).then(
      () => true,
      () => false,
    );
    if (this.ended || this.source) return;
    if (isBack && !document.hidden) this.open();
    else this.openLater();
  }
}
