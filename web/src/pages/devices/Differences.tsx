import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { InventoryDevice } from "../../api/inventory";
import { useLabels } from "../../api/labels";
import { queries } from "../../api/queries";
import { Change } from "../../ui/change";
import { Export } from "../../ui/export";
import { count, plural, sentence } from "../../ui/format";
import { Panel, Rows, Stack } from "../../ui/layout";
import { Loads, Note, Nothing } from "../../ui/page";
import { Faint } from "../../ui/text";
import { among, type Among } from "./among";
import { Named } from "../whatif/Effect";
import { Sentences } from "../whatif/Sentences";
import type { Filter } from "./filter";

/** eachDevice is a row of a difference for each device that has it. */
const eachDevice = ({ who, ...difference }: Among["differences"][number]) =>
  who.map(({ deviceID, label }) => ({ deviceID, label, ...difference, devices: undefined }));

/**
 * Differences is one view of all differences of the devices that are filtered: equal changes are one line. The server
 * compares what the filter picks; of that, what is searched and selected here is shown.
 */
export function Differences({ devices, filter }: { devices: InventoryDevice[]; filter: Filter }) {
  const labels = useLabels();
  const answer = useQuery(
    queries.differences({
      ...{ tag: filter.tags, version: filter.versions, os: filter.systems },
      ...(filter.outdated ? { outdated: true } : {}),
    }),
  );
  const unknown = devices.filter((device) => device.configuration === "unknown").length;
  return (
    <Loads query={answer} rows={5}>
      {(all) => {
        const { differences, failed, differing, narrowed } = among(all, devices);
        if (differences.length + failed.length === 0 && all.left === 0) {
          return (
            <Panel>
              <Nothing icon={IconCircleCheck} title="No differences">
                {unknown > 0
                  ? `Every device whose configuration is known is as its templates say; of ${plural(unknown, "device")} it is not known.`
                  : "Every one of these devices is as its templates say."}
              </Nothing>
            </Panel>
          );
        }
        return (
          <Stack>
            {all.left > 0 && (
              <Note>
                The first {count(all.compared)} devices that differ are compared; {count(all.left)} more differ too.
                Filter by tag, version or system to see others.
              </Note>
            )}
            {all.truncated && <Note>There are too many changes to show: some devices are compared in part.</Note>}
            {unknown > 0 && <Faint>Of {plural(unknown, "device")} the configuration is not known.</Faint>}
            {!narrowed && (
              <Panel title="What would change">
                <Sentences summary={all.summary} />
              </Panel>
            )}
            <Panel
              flush
              title={`${plural(differences.length, "difference")} on ${plural(differing, "device")}`}
              actions={<Export name="differences" rows={() => differences.flatMap(eachDevice)} says="One row for each device and key" />}
            >
              <Rows>
                {differences.map((one, i) => (
                  <li key={i}>
                    <Change change={one} labels={labels}>
                      <Named devices={one.who} />
                    </Change>
                  </li>
                ))}
                {failed.map(({ device, error }) => (
                  <li key={device.deviceID}>
                    <Named devices={[device]} />
                    <Faint>{sentence(error)}</Faint>
                  </li>
                ))}
              </Rows>
            </Panel>
          </Stack>
        );
      }}
    </Loads>
  );
}
