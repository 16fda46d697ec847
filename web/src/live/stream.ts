import { api, ask, root } from "../api/client";
import type { LiveEvent } from "./patch";

export type StreamState = "connecting" | "live" | "lost";

const types = [
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
] as const;
const restAfter = 30_000; // ms, of a hidden page
const retryAfter = 5000; // ms, where the browser does not come back by itself

/**
 * Stream is the one connection for everything live. It rests while the page is hidden, since browsers allow few
 * connections to a server, and goes on after the last event once the page shows again.
 */
export class Stream {
  private source: EventSource | undefined;
  private last = "";
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
    this.source?.close();
    this.source = undefined;
  }

  /** open does nothing while there is a connection: the page that shows and the server that is back both ask for it. */
  private open() {
    if (this.ended || this.source) return;
    clearTimeout(this.opening);
    this.onState("connecting");
    const source = new EventSource(`${root}/api/v1/events${this.last ? `?after=${this.last}` : ""}`);
    this.source = source;
    source.onopen = () => this.onState("live");
    source.onerror = () => {
      this.onState("lost");
      if (source.readyState === EventSource.CLOSED) this.openLater();
    };
    for (const type of types) {
      source.addEventListener(type, (message: MessageEvent<string>) => {
        this.last = message.lastEventId || this.last;
        this.onEvent(JSON.parse(message.data) as LiveEvent);
      });
    }
  }

  /** A browser gives up after an error status: an ended session is noticed by whoami, which asks for the log-in. */
  private openLater() {
    this.rest();
    if (document.hidden) return; // it opens once it shows
    this.opening = setTimeout(() => void this.askServer(), retryAfter);
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
