import type { ReactNode } from "react";
import { action, isLarge, valueText, withIDs, withLabels, type ChangeLike } from "./difference";
import { brief, sentence } from "./format";
import { classes, State } from "./state";
import { Chip } from "./text";

const mostText = 4000; // characters of a value: the rest is cut, and said so

function Value({
  value,
  side,
  labels,
  whole,
}: {
  value: unknown;
  side: "from" | "to";
  labels: ReadonlyMap<string, string>;
  whole: boolean;
}) {
  const text = withIDs(valueText(value), labels);
  const shown = !whole && text.length > mostText ? `${text.slice(0, mostText)}\n… ${text.length - mostText} more characters` : text;
  const name = side === "from" ? "was" : "becomes";
  return (
    <pre className={side === "from" ? "u-from" : "u-to"} aria-label={name} tabIndex={isLarge(value) ? 0 : undefined}>
      {shown}
    </pre>
  );
}

/**
 * Change shows what a change does at a key: devices by label, removed and added apart by sign and colour. A change that
 * a person answers is shown whole.
 */
export function Change({
  change,
  labels,
  whole = false,
  children,
}: {
  change: ChangeLike;
  labels: ReadonlyMap<string, string>;
  whole?: boolean;
  children?: ReactNode;
}) {
  const what = action(change);
  return (
    <div className="u-change">
      <div className="u-row">
        <span className="u-change-key">{brief(withLabels(change.key || "(whole configuration)", labels), 300)}</span>
        {change.class && change.class !== "free" && <State badges={classes} state={change.class} />}
        {change.consented && <Chip title="A person consented: it is made once Muster may write to the device">consented</Chip>}
      </div>
      <div className="u-values">
        {what !== "add" && (
          <>
            <span aria-hidden>−</span>
            <Value value={change.from} side="from" labels={labels} whole={whole} />
          </>
        )}
        {what !== "remove" && (
          <>
            <span aria-hidden>+</span>
            <Value value={change.to} side="to" labels={labels} whole={whole} />
          </>
        )}
      </div>
      {change.reason && <span className="u-faint u-clamp">{sentence(withLabels(change.reason, labels))}</span>}
      {children}
    </div>
  );
}
