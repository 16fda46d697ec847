import { Modal } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { count, plural, sentence, shortID } from "../../ui/format";
import { Grow, Row, Rows, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { orders, State } from "../../ui/state";
import { Ago, Bar, Faint, Strong, Text } from "../../ui/text";
import { Named } from "../whatif/Effect";
import { leftOf, type Left } from "./again";
import { AllCopies, AlsoMajor, GoOn } from "./choices";
import { consequences, interrupts, ofFolder, verbs, type Order } from "./words";

/** OrderLine is one order: how far it is, what came of it, and for several devices a list of what became of each. */
export function OrderLine({ order }: { order: Order }) {
  const [opened, setOpened] = useState(false);
  const isForSeveral = order.total > 1;
  return (
    <Stack tight>
      <Row>
        <State badges={orders} state={order.status} />
        <Text>
          {order.folder ? `${ofFolder(order.type)}: ${order.folder.slice(0, 60)}` : verbs[order.type]}
          {isForSeveral && `: ${countsOf(order)}`}
        </Text>
        {isForSeveral && (
          <button type="button" className="u-link" onClick={() => setOpened(true)}>
            {order.failed > 0 ? "Why, and again" : "Device by device"}
          </button>
        )}
      </Row>
      {isForSeveral && order.status === "running" && (
        <Bar value={Math.floor((order.done / order.total) * 100)} tone="plain" label={`${verbs[order.type]}: ${countsOf(order)}`} />
      )}
      {order.reason && !countsSayIt(order) && <Text>{sentence(order.reason)}</Text>}
      <Faint>
        {order.by} · <Ago at={order.endedAt ?? order.beganAt} />
      </Faint>
      <Modal opened={opened} onClose={() => setOpened(false)} size="lg" title={`${verbs[order.type]}: ${countsOf(order)}`}>
        <Detail id={order.id} onClose={() => setOpened(false)} />
      </Modal>
    </Stack>
  );
}

/** countsSayIt tells whether the reason of an order has nothing that its counts do not say. */
const countsSayIt = ({ total, status, goOn }: Order) =>
  total > 1 && (status === "done" || (status === "failed" && goOn));

/** countsOf says how far an order to several is. */
export function countsOf({ done, total, failed, skipped }: Order): string {
  return [
    `${count(done)} of ${plural(total, "device")}`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    ...(skipped > 0 ? [`${count(skipped)} could not be reached`] : []),
  ].join(", ");
}

const mostListed = 200; // devices

function Detail({ id, onClose }: { id: number; onClose: () => void }) {
  const order = useQuery(queries.order(id));
  return (
    <Loads query={order}>
      {(data) => {
        const failed = data.devices.filter(({ reason, state }) => reason || state === "failed");
        const under = data.devices.filter(({ state }) => state === "running");
        const waiting = data.devices.filter(({ state }) => state === "waiting");
        return (
          <Stack>
            <Row>
              {data.reason && <Text>{sentence(data.reason)}</Text>}
              <Grow />
              <Export name={`order-${data.id}`} rows={() => data.devices} says="All devices of the order" />
            </Row>
            {failed.length > 0 && (
              <Rows>
                {failed.slice(0, mostListed).map((one) => (
                  <li key={one.deviceID}>
                    <Strong>{one.label || shortID(one.deviceID)}</Strong>
                    <Text>{sentence(one.reason || data.reason)}</Text>
                  </li>
                ))}
                {failed.length > mostListed && <li>and {count(failed.length - mostListed)} more</li>}
              </Rows>
            )}
            {under.length > 0 && <Some says="Under way" devices={under} />}
            {waiting.length > 0 && <Some says="Not reached yet" devices={waiting} />}
            {leftOf(data).map((left) => (
              <Some key={left.says} says={`Those ${left.says}`} devices={left.devices}>
                <Again order={data} left={left} onGiven={onClose} />
              </Some>
            ))}
          </Stack>
        );
      }}
    </Loads>
  );
}

function Some({ says, devices, children }: { says: string; devices: Left["devices"]; children?: ReactNode }) {
  return (
    <Stack tight>
      <Row>
        <Strong>{says}</Strong>
        {children}
      </Row>
      <Named devices={devices} />
    </Stack>
  );
}

/** Again gives an order once more, to the devices on which it was not carried out. */
function Again({ order, left, onGiven }: { order: Order; left: Left; onGiven: () => void }) {
  const client = useQueryClient();
  const [goOn, setGoOn] = useState(order.goOn);
  const [major, setMajor] = useState(order.major);
  const [allCopies, setAllCopies] = useState(false);
  const whom = plural(left.devices.length, "device");
  return (
    <Act
      needs="operator"
      size="compact-xs"
      says={`${verbs[order.type]}: the order is given to ${whom}`}
      disabled={order.type === "override" || order.type === "revert"}
      why="The folder's page has the button: it shows first what is lost."
      run={async (title) => {
        await ask(
          titled(title).POST("/api/v1/orders", {
            body: {
              type: order.type,
              devices: left.devices.map(({ deviceID }) => deviceID),
              ...(order.folder ? { folder: order.folder } : {}),
              ...(major ? { major } : {}),
              ...(goOn ? { goOn } : {}),
              ...(allCopies ? { allCopies } : {}),
            },
          }),
        );
        void client.invalidateQueries({ queryKey: ["orders"] });
        onGiven();
      }}
      confirm={{
        title: `${verbs[order.type]} again, for ${whom}?`,
        verb: verbs[order.type],
        body: (
          <Stack>
            <Text>{consequences[order.type]}</Text>
            <Named devices={left.devices} />
            {left.devices.length > 1 && <GoOn goOn={goOn} onChange={setGoOn} />}
            {order.type === "upgrade" && <AlsoMajor major={major} onChange={setMajor} />}
            {interrupts.includes(order.type) && left.devices.length > 1 && (
              <AllCopies allCopies={allCopies} onChange={setAllCopies} />
            )}
          </Stack>
        ),
      }}
    >
      {`Again for ${whom}`}
    </Act>
  );
}
