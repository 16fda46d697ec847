import { Checkbox } from "@mantine/core";
import { plural } from "../../ui/format";
import { Stack } from "../../ui/layout";
import { Wrong } from "../../ui/page";
import type { Planning } from "./planning";

/**
 * AllowFailing asks a person before a change is stored that is certain to fail on the daemons, or with which no plan could
 * be made for devices any more. It does not ask about a device for which no plan can be made without the change, either.
 */
export function AllowFailing({ planning: { plan, refusal, isRefused, allowed, allow } }: { planning: Planning }) {
  const failed = plan.data?.devices.filter((one) => one.error !== "" && !one.failsNow).length ?? 0;
  if (!refusal && failed === 0) return null;
  const tick = (
    <Checkbox
      checked={allowed}
      onChange={(event) => allow(event.currentTarget.checked)}
      label={
        refusal
          ? "Save it although it will fail on the daemons"
          : `Save it although no plan could be made for ${plural(failed, "device")}: nothing is written there until that is mended`
      }
    />
  );
  if (!isRefused) return tick; // The plan says what fails.
  return (
    <Stack>
      <Wrong error={refusal} />
      {tick}
    </Stack>
  );
}
