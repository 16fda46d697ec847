import { Checkbox } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled, type Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { Act } from "../../ui/act";
import { plural, sentence } from "../../ui/format";
import { Panel, Row, Rows, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { orders, State } from "../../ui/state";
import { stopping } from "../../ui/stopping";
import { Ago, Faint, Text } from "../../ui/text";

type Order = Schemas["Order"];
type OrderType = Order["type"];

/** Target is who gets an order: one device, or those with a tag, one after the other. */
export type Target = { deviceID: string; tag?: undefined } | { tag: string; deviceID?: undefined };

const verbs: Record<OrderType, string> = {
  rescan: "Rescan",
  restart: "Restart",
  pause: stopping.connections.act,
  resume: stopping.connections.back,
  upgrade: "Upgrade",
  override: "Override",
  revert: "Revert",
};

/** ofFolder says what an order for one folder does. */
function ofFolder(type: OrderType): string {
  if (type === "pause") return stopping.folder.act;
  return type === "resume" ? stopping.folder.back : verbs[type];
}

const given = ["rescan", "restart", "pause", "resume", "upgrade"] as const; // orders that a button gives

const consequences: Partial<Record<OrderType, string>> = {
  restart: "The daemon ends its connections and is back seconds later. What is half transferred goes on then.",
  pause: "The daemon goes on running, and exchanges nothing with other devices until its connections are resumed.",
  upgrade: "The daemon installs the newest release of Syncthing by itself and starts again.",
};

const mostShown = 5; // orders

/** Orders gives daemons orders, and shows what came of the last orders. */
export function Orders({ target }: { target: Target }) {
  const all = useQuery(queries.orders());
  const mine = (all.data ?? []).filter((order) =>
    target.tag === undefined ? order.devices.some((one) => one.deviceID === target.deviceID) : order.tag === target.tag,
  );
  return (
    <Panel title={target.tag === undefined ? "The daemon" : "Its daemons, one after the other"}>
      <Stack>
        <Row>
          {given.map((type) => (
            <GiveOrder key={type} target={target} type={type} />
          ))}
        </Row>
        <Loads query={all} rows={1}>
          {() => (
            <Rows dense>
              {mine.slice(0, mostShown).map((order) => (
                <li key={order.id}>
                  <PastOrder order={order} />
                </li>
              ))}
            </Rows>
          )}
        </Loads>
      </Stack>
    </Panel>
  );
}

function GiveOrder({ target, type }: { target: Target; type: (typeof given)[number] }) {
  const client = useQueryClient();
  const [major, setMajor] = useState(false);
  const verb = verbs[type];
  const consequence = consequences[type];
  return (
    <Act
      needs="operator"
      says={`${verb}: the order is given`}
      run={async (title) => {
        await send(target, type, major, title);
        void client.invalidateQueries({ queryKey: ["orders"] });
      }}
      {...(consequence
        ? {
            confirm: {
              title: target.tag === undefined ? `${verb}?` : `${verb} on every device tagged ${target.tag.slice(0, 60)}?`,
              verb,
              body: (
                <Stack>
                  <Text>{consequence}</Text>
                  {target.tag !== undefined && (
                    <Text>One device after the other; the order ends at the first that fails.</Text>
                  )}
                  {type === "upgrade" && (
                    <Checkbox
                      size="xs"
                      label="Also to another major version"
                      checked={major}
                      onChange={(event) => setMajor(event.currentTarget.checked)}
                    />
                  )}
                </Stack>
              ),
            },
          }
        : {})}
    >
      {verb}
    </Act>
  );
}

function send(target: Target, type: (typeof given)[number], major: boolean, title: string): Promise<Order> {
  const query = type === "upgrade" && major ? { major } : {};
  if (target.tag === undefined) {
    const params = { path: { deviceID: target.deviceID }, query };
    return ask(titled(title).POST(`/api/v1/devices/{deviceID}/orders/${type}`, { params }));
  }
  return ask(titled(title).POST(`/api/v1/tags/{tag}/orders/${type}`, { params: { path: { tag: target.tag }, query } }));
}

function PastOrder({ order }: { order: Order }) {
  return (
    <Stack tight>
      <Row>
        <State badges={orders} state={order.status} />
        <Text>
          {order.folder ? ofFolder(order.type) : verbs[order.type]}
          {order.folder && `: ${order.folder.slice(0, 60)}`}
          {order.devices.length > 1 && `: ${order.done} of ${plural(order.devices.length, "device")}`}
        </Text>
      </Row>
      {order.reason && <Text>{sentence(order.reason)}</Text>}
      <Faint>
        {order.by} · <Ago at={order.endedAt ?? order.beganAt} />
      </Faint>
    </Stack>
  );
}
