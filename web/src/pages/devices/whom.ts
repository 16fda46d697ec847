import type { InventoryDevice } from "../../api/inventory";
import { count } from "../../ui/format";

/** Whom are the devices of an act for many, by what keeps them from it. */
export interface Whom {
  reached: InventoryDevice[]; // those that get it, now or at their turn
  offline: InventoryDevice[]; // of them: cannot be reached now
  stopped: InventoryDevice[]; // Muster does not write to them: they are left out
}

/** whomOf sorts devices for an order to their daemons. */
export function whomOf(devices: InventoryDevice[]): Whom {
  const reached = devices.filter(({ mode }) => mode === "on");
  return {
    reached,
    offline: reached.filter(({ connection }) => connection !== "online"),
    stopped: devices.filter(({ mode }) => mode !== "on"),
  };
}

/** majorsOf says how many devices run which major version: "1 runs version 2, 9 run version 1." */
export function majorsOf(devices: Pick<InventoryDevice, "version">[]): string {
  const of = new Map<string, number>();
  for (const { version } of devices) {
    const major = /^v?(\d+)\./.exec(version)?.[1];
    const name = major ? `version ${major}` : "a version that is not known";
    of.set(name, (of.get(name) ?? 0) + 1);
  }
  const parts = [...of]
    .sort(([a], [b]) => b.localeCompare(a, undefined, { numeric: true }))
    .map(([name, n]) => `${count(n)} ${n === 1 ? "runs" : "run"} ${name}`);
  return parts.length === 0 ? "" : `${parts.join(", ")}.`;
}
