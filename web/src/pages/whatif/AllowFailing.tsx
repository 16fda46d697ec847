import { Checkbox } from "@mantine/core";
import type { Schemas } from "../../api/client";
import { plural } from "../../ui/format";

/**
 * AllowFailing asks before something is stored with which no plan could be made for devices any more. A device for which
 * none can be made without it is not asked about.
 */
export function AllowFailing({
  plan,
  allowed,
  allow,
}: {
  plan: Schemas["WhatIfPlan"] | undefined;
  allowed: boolean;
  allow: (allowed: boolean) => void;
}) {
  const failed = plan?.devices.filter((one) => one.error !== "" && !one.failsNow).length ?? 0;
  if (failed === 0) return null;
  return (
    <Checkbox
      checked={allowed}
      onChange={(event) => allow(event.currentTarget.checked)}
      label={`Save it although no plan could be made for ${plural(failed, "device")}: nothing is written there until that is mended`}
    />
  );
}
