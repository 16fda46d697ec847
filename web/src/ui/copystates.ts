import { IconCircleCheck, IconCircleMinus, IconClock, IconHelpCircle } from "@tabler/icons-react";
import type { Badge } from "./state";

/** copyStates are how well the copy of a folder on a device is known. Only what is proven is green. */
export const copyStates: Record<string, Badge> = {
  proven: { word: "Proven", tone: "good", icon: IconCircleCheck },
  agrees: { word: "Agrees, but for what is ignored", tone: "quiet", icon: IconCircleCheck },
  behind: { word: "Not proven now", tone: "wait", icon: IconClock },
  unproven: { word: "Not proven", tone: "wait", icon: IconHelpCircle },
};

/** elsewhereStates are how much of a device's data is proven to be on another device. */
export const elsewhereStates: Record<string, Badge> = {
  ...copyStates,
  behind: { word: "Was proven earlier", tone: "wait", icon: IconClock },
  none: { word: "No data of its own", tone: "quiet", icon: IconCircleMinus },
  notAsked: { word: "Not known", tone: "wait", icon: IconHelpCircle },
};
