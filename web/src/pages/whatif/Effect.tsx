import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useLabels } from "../../api/labels";
import { Change } from "../../ui/change";
import { grouped } from "../../ui/difference";
import { plural, sentence, shortID } from "../../ui/format";
import { Grow, Row, Rows, Stack } from "../../ui/layout";
import { Note, Nothing } from "../../ui/page";
import { Chip, Faint, Strong, Text } from "../../ui/text";
import { Sentences } from "./Sentences";

const mostGroups = 30;
const mostNames = 10;

/** Named lists devices by label; those that are too many come when one asks for them. */
export function Named({ devices }: { devices: { deviceID: string; label: string }[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? devices : devices.slice(0, mostNames);
  return (
    <Row>
      <Faint>{plural(devices.length, "device")}</Faint>
      {shown.map((device) => (
        <Chip key={device.deviceID} href={`/devices/${device.deviceID}`}>
          {device.label || shortID(device.deviceID)}
        </Chip>
      ))}
      {devices.length > shown.length && (
        <button type="button" className="u-link" onClick={() => setAll(true)}>
          and {devices.length - shown.length} more
        </button>
      )}
    </Row>
  );
}

/**
 * Effect says what a change of templates or tags would do to the fleet: how much, to whom, and what would wait. It shows
 * the first changes, or the whole plan where a person answers all of it.
 */
export function Effect({ plan, idle, whole }: { plan: Schemas["WhatIfPlan"]; idle?: string | undefined; whole?: boolean }) {
  const most = whole ? Number.POSITIVE_INFINITY : mostGroups;
  const labels = useLabels();
  const { touched } = plan;
  const changes = grouped(plan.devices.map((one) => ({ ...one, changes: one.changes })));
  const dropped = grouped(plan.devices.map((one) => ({ ...one, changes: one.dropped })));
  const broken = plan.devices.filter((one) => one.error !== "");
  if (touched.devices === 0 && plan.devices.length === 0 && plan.warnings.length + plan.broken.length === 0) {
    return <Nothing title="No device changes">{idle ?? "Saving this leaves every daemon as it is."}</Nothing>;
  }
  return (
    <Stack>
      <Row>
        <Strong>{plural(touched.devices, "device")}</Strong>
        <Faint>{[plural(touched.keys, "key"), plural(touched.folders, "folder")].join(" · ")}</Faint>
        {touched.held > 0 && <Chip>{`${plural(touched.held, "change waits", "changes wait")} for consent`}</Chip>}
        {touched.refused > 0 && <Chip>{`${plural(touched.refused, "change")} refused`}</Chip>}
        {touched.unread > 0 && <Chip>{`${touched.unread} never read`}</Chip>}
      </Row>
      {plan.waves.length > 0 && (
        <Faint>
          {`Goes out as a rollout in ${plural(plan.waves.length, "wave")}: ${plan.waves.map((n) => plural(n, "device")).join(", then ")}.`}
        </Faint>
      )}
      {plan.broken.map((one) => (
        <Note key={[one.source, one.name, one.deviceID, one.key].join("/")} tone="bad">
          {`It would break “${one.name}” of the source ${one.source}: ` +
            [one.label || one.deviceID, one.key, `expected ${one.expected}, got ${one.got}`].filter(Boolean).join(": ")}
        </Note>
      ))}
      {plan.approval && <Note>{sentence(plan.approval)}</Note>}
      {plan.warnings.map((warning) => (
        <Note key={warning}>{sentence(warning)}</Note>
      ))}
      <Sentences summary={plan.summary} />
      {changes.length + dropped.length + broken.length > 0 && (
        <details open={whole || plan.summary.sentences.length === 0}>
          <summary>Keys and values</summary>
          <Rows>
            {broken.map((one) => (
              <li key={one.deviceID}>
                <Named devices={[one]} />
                <Faint>{sentence(one.error)}</Faint>
              </li>
            ))}
            {changes.slice(0, most).map(({ change, devices }, i) => (
              <li key={i}>
                <Change change={change} labels={labels}>
                  <Named devices={devices} />
                </Change>
              </li>
            ))}
            {dropped.slice(0, most).map(({ change, devices }, i) => (
              <li key={`dropped-${i}`}>
                <Stack tight>
                  <Text>
                    No longer planned: <span className="u-change-key">{change.key}</span>
                  </Text>
                  <Named devices={devices} />
                </Stack>
              </li>
            ))}
          </Rows>
          {(changes.length > most || plan.truncated) && (
            <Faint>There are more changes than are shown here; the numbers count all of them.</Faint>
          )}
        </details>
      )}
      <Grow />
    </Stack>
  );
}
