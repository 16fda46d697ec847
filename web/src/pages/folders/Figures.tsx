import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { queries } from "../../api/queries";
import { count, plural, size } from "../../ui/format";
import { Columns, Panel } from "../../ui/layout";
import { Nothing } from "../../ui/page";
import { held, type FigurePoint } from "./figures";

const Curve = lazy(() => import("../../ui/Curve"));

type Span = "day" | "month";
type Over = (point: FigurePoint) => number;

const spans: { value: Span; label: string; from: string }[] = [
  { value: "day", label: "The last day", from: "The last day" },
  { value: "month", label: "The last month, the worst of each hour", from: "The last month" },
];

/** Figures are the numbers of a folder over time. Callers who may not see the whole fleet see none. */
export function Figures({ folder }: { folder: string }) {
  const [span, setSpan] = useState<Span>("day");
  const history = useQuery(queries.folderHistory(folder, span));
  if (!history.data) return null;
  const { points } = history.data;
  const last = points.at(-1);
  const from = spans.find(({ value }) => value === span)?.from ?? span;
  return (
    <Panel
      title="Over time"
      flush
      actions={
        <NativeSelect
          size="xs"
          aria-label="How far back"
          value={span}
          data={spans.map(({ value, label }) => ({ value, label }))}
          onChange={({ currentTarget }) => setSpan(currentTarget.value === "month" ? "month" : "day")}
        />
      }
    >
      {last ? (
        <Columns small>
          <Figure label="devices up to date" now={count(last.upToDate)} points={points} over={upToDate} from={from}>
            {`of ${plural(last.devices, "device")}`}
          </Figure>
          <Figure label="missing, as last told" now={size(last.needBytes)} points={points} over={needBytes} from={from}>
            {`${size(Math.max(...points.map(needBytes)))} at most`}
          </Figure>
          <Figure label="size" now={size(last.globalBytes)} points={points} over={globalBytes} from={from}>
            {`${size(Math.max(...points.map(globalBytes)))} at most`}
          </Figure>
        </Columns>
      ) : (
        <Nothing title="No figures are kept">
          They did not change since Muster follows the folder, or 1,000 others changed later.
        </Nothing>
      )}
    </Panel>
  );
}

const upToDate: Over = (point) => point.upToDate;
const needBytes: Over = (point) => point.needBytes;
const globalBytes: Over = (point) => point.globalBytes;

interface FigureProps {
  label: string;
  now: string;
  points: FigurePoint[];
  over: Over;
  from: string;
  children: string;
}

function Figure({ label, now, points, over, from, children }: FigureProps) {
  const { at, values } = useMemo(() => held(points, over, new Date()), [points, over]);
  return (
    <div className="u-stat">
      <span className="u-stat-label">{label}</span>
      <span className="u-stat-value">{now}</span>
      <span className="u-faint">{children}</span>
      <Suspense fallback={<div className="u-curve" />}>
        <Curve at={at} values={values} label={`${from}: ${label}`} />
      </Suspense>
    </div>
  );
}
