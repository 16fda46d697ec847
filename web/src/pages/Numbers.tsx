import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import type { Schemas } from "../api/client";
import { queries } from "../api/queries";
import { count } from "../ui/format";
import { Columns, Panel } from "../ui/layout";
import { To } from "../ui/text";

const Curve = lazy(() => import("../ui/Curve"));

type Point = Schemas["HistoryPoint"];

/** Numbers are the fleet in four numbers, with the last day of those that are kept. */
export function Numbers({ overview }: { overview: Schemas["Overview"] }) {
  const history = useQuery(queries.history());
  const points = history.data?.points ?? [];
  const numbers: { label: string; value: number; of: number; href: string; over?: (point: Point) => number }[] = [
    { label: "online", value: overview.connections.online ?? 0, of: overview.devices, href: "/devices?state=online", over: online },
    { label: "in sync", value: overview.configurations.inSync ?? 0, of: overview.devices, href: "/devices?state=inSync", over: inSync },
    { label: "held or failed", value: waitingDevices(overview), of: overview.devices, href: "/devices?waiting=any", over: waits },
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
            {points.length > 1 && one.over && <Day points={points} over={one.over} label={one.label} />}
          </div>
        </Panel>
      ))}
    </Columns>
  );
}

const online = (point: Point) => point.online;
const inSync = (point: Point) => point.inSync;
const waits = (point: Point) => point.waiting;

function Day({ points, over, label }: { points: Point[]; over: (point: Point) => number; label: string }) {
  const at = useMemo(() => points.map((point) => new Date(point.at).getTime() / 1000), [points]);
  const values = useMemo(() => points.map(over), [points, over]);
  return (
    <Suspense fallback={<div className="u-curve" />}>
      <Curve at={at} values={values} label={`The last day: ${label}`} />
    </Suspense>
  );
}

function waitingDevices({ configurations }: Schemas["Overview"]): number {
  return ["held", "failed", "contended", "unstable"].reduce((sum, state) => sum + (configurations[state] ?? 0), 0);
}
