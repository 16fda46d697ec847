import {
  IconActivity,
  IconDeviceLaptop,
  IconFolder,
  IconHistory,
  IconInbox,
  IconRocket,
  IconSettings,
  IconTag,
  IconTemplate,
  type Icon,
} from "@tabler/icons-react";

export interface Place {
  href: string;
  name: string;
  icon: Icon;
  key: string; // pressed after g
}

/** places are the pages of the console, the most used first. */
export const places: Place[] = [
  { href: "/", name: "What waits", icon: IconInbox, key: "w" },
  { href: "/devices", name: "Devices", icon: IconDeviceLaptop, key: "d" },
  { href: "/templates", name: "Templates", icon: IconTemplate, key: "t" },
  { href: "/folders", name: "Folders", icon: IconFolder, key: "f" },
  { href: "/rollouts", name: "Rollouts", icon: IconRocket, key: "r" },
  { href: "/tags", name: "Tags", icon: IconTag, key: "l" },
  { href: "/events", name: "Events", icon: IconActivity, key: "e" },
  { href: "/audit", name: "Audit", icon: IconHistory, key: "a" },
  { href: "/settings", name: "Settings", icon: IconSettings, key: "s" },
];
