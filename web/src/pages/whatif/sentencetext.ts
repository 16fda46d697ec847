import type { Schemas } from "../../api/client";
import { count, plural } from "../../ui/format";

type Summary = Schemas["Summary"];

/** labelsText names the first devices of a sentence and counts the others. */
export function labelsText({ labels, devices }: Pick<Summary["sentences"][number], "labels" | "devices">): string {
  const more = devices - labels.length;
  return labels.join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}

/** moreTexts count what has no sentence: changes, and devices without a plan. */
export function moreTexts(summary: Pick<Summary, "moreChanges" | "moreDevices" | "moreWithoutPlan">): string[] {
  const { moreChanges, moreDevices, moreWithoutPlan } = summary;
  const texts: string[] = [];
  if (moreChanges > 0) {
    const on = plural(moreDevices, "device");
    texts.push(`and ${plural(moreChanges, "more change")} on ${on}: the keys and values are below`);
  }
  if (moreWithoutPlan > 0) texts.push(`and ${plural(moreWithoutPlan, "more device")} without a plan`);
  return texts;
}
