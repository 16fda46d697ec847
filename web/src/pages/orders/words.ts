import type { Schemas } from "../../api/client";
import { stopping } from "../../ui/stopping";

export type Order = Schemas["Order"];
export type OrderType = Order["type"];

/** GivenType is an order that a button gives. */
export type GivenType = (typeof given)[number];
export const given = ["rescan", "restart", "upgrade", "pause", "resume"] as const;

export const verbs: Record<OrderType, string> = {
  rescan: "Rescan",
  restart: "Restart",
  pause: stopping.connections.act,
  resume: stopping.connections.back,
  upgrade: "Upgrade",
  override: "Override",
  revert: "Revert",
};

/** ofFolder says what an order for one folder does. */
export function ofFolder(type: OrderType): string {
  if (type === "pause") return stopping.folder.act;
  return type === "resume" ? stopping.folder.back : verbs[type];
}

export const consequences: Partial<Record<OrderType, string>> = {
  rescan: "The daemon compares its folders with the disk. Nothing is interrupted.",
  restart: "The daemon ends its connections and is back seconds later. What is half transferred goes on then.",
  pause: "The daemon goes on running, and exchanges nothing with other devices until its connections are resumed.",
  resume: "The daemon connects to all its devices again, those too that were paused one by one.",
  upgrade:
    "The daemon installs the newest release of Syncthing by itself and starts again. There is no order that brings the older release back.",
};

/** asksFirst are the orders that a person confirms also for one device: they interrupt its work. */
export const asksFirst: OrderType[] = ["restart", "pause", "upgrade"];

/** interrupts are orders that restart a daemon: where one fails, the next might fail as well. */
export const interrupts: OrderType[] = ["restart", "upgrade"];
