import type { InventoryDevice } from "../../api/inventory";

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
