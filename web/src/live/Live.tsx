import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import type { Schemas } from "../api/client";
import type { Inventory } from "../api/inventory";
import { patchInventory, type DeviceEvent, type FolderEvent, type LiveEvent } from "./patch";
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
        recent.add(event);
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
    this.client.setQueryData<Inventory>(["inventory"], (old) => old && patchInventory(old, events));
    const stale = new Set<string>();
    for (const event of events) this.patch(event, stale);
    for (const key of stale) this.readAgain(key);
  }

  private patch(event: LiveEvent, stale: Set<string>) {
    const device = event.device;
    switch (event.type) {
      case "device":
      case "plan": {
        const { state } = event.data as DeviceEvent;
        if (state) this.client.setQueryData(["device", device, "state"], state);
        if (event.type === "plan") {
          stale.add(JSON.stringify(["device", device, "plan"]));
        }
        stale.add(JSON.stringify(["overview"]));
        stale.add(JSON.stringify(["waiting"]));
        if (!this.knows(device)) stale.add(JSON.stringify(["inventory"]));
        break;
      }
      case "folder": {
        const { summary, state, error } = event.data as FolderEvent;
        this.client.setQueryData<Schemas["FolderSummary"][]>(["folders", summary.folder], (old) =>
          old?.map((one) => (one.device === summary.device ? summary : one)),
        );
        this.client.setQueryData(["folder-state", summary.device, summary.folder], { state, error });
        break;
      }
      case "config":
        stale.add(JSON.stringify(["device", device, "revisions"]));
        stale.add(JSON.stringify(["device", device, "plan"]));
        break;
      case "rollout":
        stale.add(JSON.stringify(["rollouts"]));
        stale.add(JSON.stringify(["overview"]));
        stale.add(JSON.stringify(["waiting"]));
        break;
      case "pending":
      case "agent":
        stale.add(JSON.stringify(["waiting"]));
        break;
    }
  }

  private knows(device: string): boolean {
    const inventory = this.client.getQueryData<Inventory>(["inventory"]);
    return !inventory || inventory.devices.some((row) => row.deviceID === device);
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
