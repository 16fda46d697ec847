import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { Panel, Row, Rows, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Text } from "../../ui/text";
import { AlsoMajor } from "./choices";
import { OrderLine } from "./OrderLine";
import { asksFirst, consequences, given, verbs, type GivenType, type Order } from "./words";

/** Target is who gets an order: one device, or those with a tag, one after the other. */
export type Target = { deviceID: string; tag?: undefined } | { tag: string; deviceID?: undefined };

const mostShown = 5; // orders

/** exported is an order as a row of a table, with what became of the one device that it lists. */
function exported({ devices, ...order }: Order) {
  const [one] = devices;
  return devices.length === 1 && one ? { ...order, deviceState: one.state, deviceReason: one.reason ?? "" } : order;
}

/** Orders gives daemons orders, and shows what came of the last orders. */
export function Orders({ target }: { target: Target }) {
  const all = useQuery(queries.orders(target.deviceID));
  const mine = (all.data ?? []).filter((order) => target.tag === undefined || order.tag === target.tag);
  return (
    <Panel
      title={target.tag === undefined ? "The daemon" : "Its daemons, one after the other"}
      actions={<Export name="orders" rows={() => mine.map(exported)} says={`The last orders, ${mine.length}`} />}
    >
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
                  <OrderLine order={order} />
                </li>
              ))}
            </Rows>
          )}
        </Loads>
      </Stack>
    </Panel>
  );
}

function GiveOrder({ target, type }: { target: Target; type: GivenType }) {
  const client = useQueryClient();
  const [major, setMajor] = useState(false);
  const verb = verbs[type];
  return (
    <Act
      needs="operator"
      says={`${verb}: the order is given`}
      run={async (title) => {
        await send(target, type, major, title);
        void client.invalidateQueries({ queryKey: ["orders"] });
      }}
      {...(asksFirst.includes(type)
        ? {
            confirm: {
              title: target.tag === undefined ? `${verb}?` : `${verb} on every device tagged ${target.tag.slice(0, 60)}?`,
              verb,
              body: (
                <Stack>
                  <Text>{consequences[type]}</Text>
                  {target.tag !== undefined && (
                    <Text>One device after the other; the order ends at the first that fails.</Text>
                  )}
                  {type === "upgrade" && <AlsoMajor major={major} onChange={setMajor} />}
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

function send(target: Target, type: GivenType, major: boolean, title: string): Promise<Order> {
  const query = type === "upgrade" && major ? { major } : {};
  if (target.tag === undefined) {
    const params = { path: { deviceID: target.deviceID }, query };
    return ask(titled(title).POST(`/api/v1/devices/{deviceID}/orders/${type}`, { params }));
  }
  return ask(titled(title).POST(`/api/v1/tags/{tag}/orders/${type}`, { params: { path: { tag: target.tag }, query } }));
}
