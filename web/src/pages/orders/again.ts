import type { Order } from "./words";

type Device = Order["devices"][number];

/** Left are devices of an order that has ended on which it was not carried out. */
export interface Left {
  says: string;
  devices: Device[];
}

/** leftOf are the devices of an order that has ended to which it may be given again, by what became of them. */
export function leftOf(order: Order): Left[] {
  if (order.status === "running") return [];
  const inStates = (...states: Device["state"][]) => order.devices.filter((device) => states.includes(device.state));
  return [
    { says: "on which it failed", devices: inStates("failed", "unknown") },
    { says: "that could not be reached", devices: inStates("skipped") },
    { says: "that it did not come to", devices: inStates("untouched") },
  ].filter(({ devices }) => devices.length > 0);
}
