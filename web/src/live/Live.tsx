import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import type { Inventory } from "../api/inventory";
import { bringsVersion, patchInventory, type LiveEvent } from "./patch";
import { recent } from "./recent";
import { Stream, type StreamState } from "./stream";

const gatherFor = 400; // ms: many events make one change of the page
const readAgainAfter = 2000; // ms between two questions of the same kind that events cause

const LiveContext = createContext<StreamState>("connecting");

export function useLiveState(): StreamState {
  return useContext(LiveContext);
}

/** Live keeps what pages show up to date with the one event stream. */
export function Live({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState>("connecting");
  useEffect(() => {
    const patches = new Patches(client);
    let wasLost = false;
    const stream = new Stream(
      (event) => {
        if (event.type !== "inventory") recent.add(event); // a row says again what other events say
        patches.add(event);
      },
      (now) => {
        if (now === "lost") wasLost = true;
        if (now === "live" && wasLost) {
          wasLost = false;
          void client.invalidateQueries({ type: "active" }); // a server that was restarted has forgotten its events
        }
        setState(now);
      },
    );
    return () => {
      stream.close();
      patches.end();
    };
  }, [client]);
  return <LiveContext value={state}>{children}</LiveContext>;
}

/** Patches gathers events, writes what they say into the answers that are kept, and asks anew where they do not say it. */
export class Patches {
  private events: LiveEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly askedAt = new Map<string, number>();
  private readonly later = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(private readonly client: QueryClient) {}

  add(event: LiveEvent) {
    this.events.push(event);
    this.timer ??= setTimeout(() => this.flush(), gatherFor);
  }

  end() {
    clearTimeout(this.timer);
    for (const timer of this.later.values()) clearTimeout(timer);
  }

  flush() {
    this.timer = undefined;
    const events = this.events;
    this.events = [];
    if (events.some((event) => event.type === "missed")) {
      void this.client.invalidateQueries({ type: "active" });
      return;
    }
    const stale = new Set<string>();
    this.client.setQueryData<Inventory>(["inventory"], (old) => {
      if (old && bringsVersion(old, events)) stale.add(JSON.stringify(["inventory"]));
      return old && patchInventory(old, events);
    });
    for (const event of events) this.patch(event, stale);
    for (const key of stale) this.readAgain(key);
  }

  private patch(event: LiveEvent, stale: Set<string>) {
    const device = event.device;
    const isStale = (...key: string[]) => stale.add(JSON.stringify(key));
    switch (event.type) {
      case "device":
      case "plan": {
        const { state } = event.data;
        // The event says nothing of the folders of the device: what is known of them stays.
        if (state) this.client.setQueryData(["device", device, "state"], (known: object | undefined) => ({ ...known, ...state }));
        if (event.type === "plan") isStale("device", device, "plan");
        else isStale("tag-overviews");
        isStale("overview");
        isStale("waiting");
        break;
      }
      case "status": {
        const { status } = event.data;
        if (status) this.client.setQueryData(["device", device, "status"], status);
        break;
      }
      case "folder":
        isStale("device", device, "folders");
        isStale("device", device, "state");
        isStale("folder-state", event.data.summary.folder);
        isStale("folder-overviews");
        break;
      case "config":
        isStale("device", device, "revisions");
        isStale("device", device, "plan");
        isStale("device", device, "config");
        break;
      case "rollout":
        isStale("rollouts");
        isStale("overview");
        isStale("waiting");
        break;
      case "pending":
      case "agent":
        isStale("waiting");
        break;
      case "template":
        isStale("templates");
        isStale("tags");
        isStale("tag-overviews");
        break;
    }
  }

  /** readAgain asks anew what a page shows now, at most every two seconds for each question. */
  private readAgain(key: string) {
    if (this.later.has(key)) return;
    const wait = Math.max(0, (this.askedAt.get(key) ?? 0) + readAgainAfter - Date.now());
    this.later.set(
      key,
      setTimeout(() => {
        this.later.delete(key);
        this.askedAt.set(key, Date.now());
        void this.client.invalidateQueries({ queryKey: JSON.parse(key) as string[] });
      }, wait),
    );
  }
}
