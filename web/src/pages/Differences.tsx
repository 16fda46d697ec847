import { IconCircleCheck } from "@tabler/icons-react";
import { useQueries } from "@tanstack/react-query";
import type { InventoryDevice } from "../api/inventory";
import { useLabels } from "../api/labels";
import { queries } from "../api/queries";
import { asProblem } from "../api/problem";
import { Change } from "../ui/change";
import { grouped } from "../ui/difference";
import { plural, sentence } from "../ui/format";
import { Panel, Rows, Stack } from "../ui/layout";
import { Ghosts, Note, Nothing } from "../ui/page";
import { Faint } from "../ui/text";
import { Named } from "./Effect";

const settled = new Set(["inSync", "unmanaged", "unknown"]);
const most = 100; // devices whose plans are read for one page

/** Differences is one view of all differences of the devices that are filtered: equal changes are one line. */
export function Differences({ devices }: { devices: InventoryDevice[] }) {
  const labels = useLabels();
  const differing = devices.filter((device) => !settled.has(device.configuration));
  const asked = differing.slice(0, most);
  const plans = useQueries({ queries: asked.map((device) => queries.plan(device.deviceID)) });
  const unknown = devices.filter((device) => device.configuration === "unknown");
  const withChanges = asked.map((device, i) => ({
    deviceID: device.deviceID,
    label: device.label,
    changes: plans[i]?.data?.changes ?? [],
  }));
  const groups = grouped(withChanges);
  const failing = asked.flatMap((device, i) => {
    const error = plans[i]?.error;
    return error ? [{ device, reason: asProblem(error).message }] : [];
  });
  const reading = plans.some((plan) => plan.isPending);
  if (differing.length === 0) {
    return (
      <Panel>
        <Nothing icon={IconCircleCheck} title="No differences">
          {unknown.length > 0
            ? `Every device whose configuration is known is as its templates say; of ${plural(unknown.length, "device")} it is not known.`
            : "Every one of these devices is as its templates say."}
        </Nothing>
      </Panel>
    );
  }
  return (
    <Stack>
      {differing.length > most && (
        <Note>
          Only the first {most} of {differing.length} devices that differ are compared here. Narrow the filter to see
          others.
        </Note>
      )}
      {unknown.length > 0 && <Faint>Of {plural(unknown.length, "device")} the configuration is not known.</Faint>}
      <Panel flush title={`${plural(groups.length, "difference")} on ${plural(asked.length, "device")}`}>
        {reading && <Ghosts rows={3} />}
        <Rows>
          {groups.map(({ change, devices: who }, i) => (
            <li key={i}>
              <Change change={change} labels={labels}>
                <Named devices={who} />
              </Change>
            </li>
          ))}
          {failing.map(({ device, reason }) => (
            <li key={device.deviceID}>
              <Named devices={[device]} />
              <Faint>{sentence(reason)}</Faint>
            </li>
          ))}
        </Rows>
      </Panel>
    </Stack>
  );
}
