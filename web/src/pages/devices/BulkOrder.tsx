import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../api/client";
import type { InventoryDevice } from "../../api/inventory";
import { done } from "../../ui/act";
import { Confirm } from "../../ui/confirm";
import { plural } from "../../ui/format";
import { Stack } from "../../ui/layout";
import { Note } from "../../ui/page";
import { stopping } from "../../ui/stopping";
import { Faint, Text } from "../../ui/text";
import { AllCopies, AlsoMajor, GoOn } from "../orders/choices";
import { consequences, interrupts, verbs, type GivenType } from "../orders/words";
import { Named } from "../whatif/Effect";
import { majorsOf, whomOf } from "./whom";

/** BulkOrder asks before an order is given to many daemons, and gives it. The server carries it out also when no page shows it. */
export function BulkOrder({
  type,
  devices,
  onClose,
}: {
  type: GivenType;
  devices: InventoryDevice[];
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [goOn, setGoOn] = useState(!interrupts.includes(type));
  const [major, setMajor] = useState(false);
  const [allCopies, setAllCopies] = useState(false);
  const { reached, offline, stopped } = whomOf(devices);
  const whom = plural(reached.length, "device");
  const isForOne = reached.length === 1;
  return (
    <Confirm
      onClose={onClose}
      run={async (title) => {
        await ask(
          titled(title).POST("/api/v1/orders", {
            body: {
              type,
              devices: reached.map(({ deviceID }) => deviceID),
              goOn: goOn && !isForOne,
              ...(major ? { major } : {}),
              ...(allCopies ? { allCopies } : {}),
            },
          }),
        );
        void client.invalidateQueries({ queryKey: ["orders"] });
        done(`${verbs[type]}: the order is given to ${whom}`);
      }}
      question={{
        title: `${verbs[type]}: ${whom}?`,
        verb: verbs[type],
        loads: reached.length === 0,
        body: (
          <Stack>
            <Text>{consequences[type]}</Text>
            <Named devices={reached} />
            {offline.length > 0 && (
              <Note>
                {`${plural(offline.length, "device")} of them cannot be reached now. Who cannot be reached at their turn is left out and named; the order can be given to them again.`}
                <Named devices={offline} />
              </Note>
            )}
            {stopped.length > 0 && (
              <Note>
                {`Muster does not write to ${plural(stopped.length, "device")} that you chose, since their mode is “${stopping.observe.state}” or “${stopping.paused.state}”. They are left out.`}
                <Named devices={stopped} />
              </Note>
            )}
            {!isForOne && <GoOn goOn={goOn} onChange={setGoOn} />}
            {type === "upgrade" && <AlsoMajor major={major} onChange={setMajor} running={majorsOf(reached)} />}
            {interrupts.includes(type) && !isForOne && <AllCopies allCopies={allCopies} onChange={setAllCopies} />}
            <Faint>
              {interrupts.includes(type) || !goOn ? "One device after the other." : "Eight devices at once."} The server carries it
              out, also when you leave this page. A stop of Muster ends it.
            </Faint>
          </Stack>
        ),
      }}
    />
  );
}
