import type { Order } from "./words";

const lasts = 60 * 60 * 1000; // ms that an order shows after its end

/** recentOrders are orders to several devices that run, and those that a person gave and that ended lately. */
export function recentOrders(orders: Order[], me: string, now: Date, hidden: number[]): Order[] {
  return orders.filter(
    (order) =>
      order.total > 1 &&
      (order.status === "running" ||
        (order.by === me && !hidden.includes(order.id) && now.getTime() - new Date(order.endedAt ?? 0).getTime() < lasts)),
  );
}
