import type { Schemas } from "../../api/client";
import { plural } from "../../ui/format";

/** Listed is what of the plan of an undo says to which changes it consents. */
type Listed = { devices: { deviceID: string; changes: { digest?: string | undefined }[] }[] };

/** answeredByUndo lists the held changes of a plan to which its undo consents. */
export function answeredByUndo(plan: Listed): Schemas["ShownChange"][] {
  return plan.devices.flatMap(({ deviceID, changes }) =>
    changes.flatMap(({ digest }) => (digest ? [{ deviceID, digest }] : [])),
  );
}

/** consentOfUndo says to what the undo consents. */
export function consentOfUndo(plan: Listed): string {
  const changes = plural(answeredByUndo(plan).length, "held change");
  return (
    `The undo also consents to ${changes} in this list that no template asks for any more. ` +
    "Every other held change waits for an answer of its own."
  );
}

/**
 * shownOnce has a plan read once while it is on the screen: what an undo answers is what was on the screen when the
 * person began to read. An event of the fleet, the return to the page or to the network does not replace it.
 */
export const shownOnce = { staleTime: "static", gcTime: 0 } as const;

/** afterUndo says what became of an undo, and which held changes wait. */
export function afterUndo({ waiting }: Pick<Schemas["UndoneRollout"], "waiting">): string {
  if (waiting.length === 0) return "It is taken back";
  const devices = new Set(waiting.map((one) => one.deviceID)).size;
  const changes = plural(waiting.length, "change waits", "changes wait");
  return `It is taken back. ${changes} on ${plural(devices, "device")} for an answer: not in the list that you saw, or for an admin.`;
}
