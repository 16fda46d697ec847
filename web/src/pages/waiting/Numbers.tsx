import { IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { count } from "../../ui/format";
import { Columns, Panel } from "../../ui/layout";
import { To } from "../../ui/text";

const Curve = lazy(() => import("../../ui/Curve"));

/** A Point of an older server has no numbers of folders and trouble. */
type Point = Schemas["HistoryPoint"] & { upToDate?: number; troubled?: number };
type Over = (point: Point) => number | undefined;

/** Numbers are the fleet in four numbers, with the last day of those that are kept. */
export function Numbers({ overview }: { overview: Schemas["Overview"] }) {
  const history = useQuery(queries.history());
  const points: Point[] = history.data?.points ?? [];
  const numbers: { label: string; value: number; of: number; href: string; over: Over }[] = [
    { label: "devices online", value: overview.connections.online ?? 0, of: overview.devices, href: "/devices?state=online", over: online },
    {
      ...{ label: "configuration in sync", value: overview.configurations.inSync ?? 0, of: overview.devices },
      ...{ href: "/devices?state=inSync", over: inSync },
    },
    {
      ...{ label: "folders up to date", value: overview.folders.upToDate ?? 0, of: overview.folders.all ?? 0 },
      ...{ href: "/folders", over: upToDate },
    },
    {
      ...{ label: "devices in trouble", value: overview.troubled, of: overview.devices },
      ...{ href: "/devices?waiting=trouble", over: troubled },
    },
  ];
  return (
    <Columns small>
      {numbers.map((one) => (
        <Panel key={one.label} flush>
          <div className="u-stat">
            <span className="u-stat-label">{one.label}</span>
            <span className="u-stat-value" data-tone={one.over === troubled && one.value > 0 ? "bad" : undefined}>
              {one.over === troubled && one.value > 0 && <IconAlertTriangle size={18} aria-hidden />}
              <To href={one.href}>{count(one.value)}</To>
            </span>
            <span className="u-faint">of {count(one.of)}</span>
            <Day points={points} over={one.over} label={one.label} />
          </div>
        </Panel>
      ))}
    </Columns>
  );
}

const online: Over = (point) => point.online;
const inSync: Over = (point) => point.inSync;
const upToDate: Over = (point) => point.upToDate;
const troubled: Over = (point) => point.troubled;

function Day({ points, over, label }: { points: Point[]; over: Over; label: string }) {
  const known = useMemo(() => points.filter((point) => over(point) !== undefined), [points, over]);
  const at = useMemo(() => known.map((point) => new Date(point.at).getTime() / 1000), [known]);
  const values = useMemo(() => known.map((point) => over(point) ?? 0), [known, over]);
  if (known.length < 2) return null;
  return (
    <Suspense fallback={<div className="u-curve" />}>
      <Curve at={at} values={values} label={`The last day: ${label}`} />
    </Suspense>
  );
}
