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
const retryAfter = 5000; // ms, where the browser does not come back by itself

/**
 * Stream is the one connection for everything live. It rests while the page is hidden, since browsers allow few
 * connections to a server, and goes on after the last event once the page shows again.
 */
export class Stream {
  private source: EventSource | undefined;
  private last = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
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
    if (document.hidden) {
      this.timer = setTimeout(() => this.rest(), 30_000);
      return;
    }
    clearTimeout(this.timer);
    if (!this.source) this.open();
  };

  private rest() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
  }

  private open() {
    if (this.ended) return;
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
    this.timer = setTimeout(() => {
      ask(api.GET("/api/v1/whoami")).then(
        () => this.open(),
        () => this.openLater(),
      );
    }, retryAfter);
  }
}
