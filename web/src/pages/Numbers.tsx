import type { Schemas } from "../api/client";
import { count } from "../ui/format";
import { Columns, Panel } from "../ui/layout";
import { To } from "../ui/text";

/** Numbers are the fleet in four numbers. */
export function Numbers({ overview }: { overview: Schemas["Overview"] }) {
  const numbers = [
    { label: "online", value: overview.connections.online ?? 0, of: overview.devices, href: "/devices?state=online" },
    { label: "in sync", value: overview.configurations.inSync ?? 0, of: overview.devices, href: "/devices?state=inSync" },
    { label: "wait for a person", value: waitingDevices(overview), of: overview.devices, href: "/devices?waiting=any" },
    { label: "folders in sync", value: overview.folders.inSync, of: overview.folders.all, href: "/folders" },
  ];
  return (
    <Columns small>
      {numbers.map((one) => (
        <Panel key={one.label} flush>
          <div className="u-stat">
            <span className="u-stat-label">{one.label}</span>
            <span className="u-stat-value">
              <To href={one.href}>{count(one.value)}</To>
            </span>
            <span className="u-faint">of {count(one.of)}</span>
          </div>
        </Panel>
      ))}
    </Columns>
  );
}

function waitingDevices({ configurations }: Schemas["Overview"]): number {
  return ["held", "failed", "contended", "unstable"].reduce((sum, state) => sum + (configurations[state] ?? 0), 0);
}
