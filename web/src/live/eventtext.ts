import type { Schemas } from "../api/client";
import { plural, size } from "../ui/format";
import { badgeOf, configurations, connections } from "../ui/state";
import type { LiveEvent } from "./patch";

export interface EventText {
  text: string;
  href: string;
}

/** eventText gives a sentence about an event. For an event of a type that this console does not know it gives the type. */
export function eventText(event: LiveEvent): EventText {
  switch (event.type) {
    case "device":
    case "plan":
      return { text: ofDevice(event.data), href: "" };
    case "status":
      return { text: ofStatus(event.data), href: "" };
    case "folder":
      return { text: ofFolder(event.data), href: `/folders/${encodeURIComponent(event.data.summary.folder)}` };
    case "config":
      return { text: "another configuration was seen", href: "" };
    case "rollout": {
      const { id, status, reason } = event.data;
      return { text: `rollout ${id} is ${status}${reason ? `: ${reason}` : ""}`, href: `/rollouts/${id}` };
    }
    case "pending": {
      const { devices, folders } = event.data;
      return { text: `${plural(devices, "device")} and ${plural(folders, "folder")} ask to be let in`, href: "/" };
    }
    case "template": {
      const { id, label, deleted } = event.data;
      const name = label || `template ${id}`;
      return { text: `${name} was ${deleted ? "deleted" : "saved or tagged"}`, href: deleted ? "" : `/templates/${id}` };
    }
    case "missed":
      return { text: "events are missing: the pages were read anew", href: "" };
    default:
      return { text: event.type, href: "" };
  }
}

function ofDevice({ deleted, state }: Schemas["DeviceEvent"]): string {
  if (deleted || !state) return "is registered no more";
  const words = [badgeOf(connections, state.connection).word, badgeOf(configurations, state.configuration).word];
  return [words.join(", ").toLowerCase(), state.reason].filter(Boolean).join(": ");
}

function ofStatus({ version, status }: Schemas["StatusEvent"]): string {
  const runs = version ? `runs ${version.version}` : "its version is not known";
  return status ? `${runs}, ${size(status.alloc)} in use` : runs;
}

function ofFolder({ summary, state, error }: Schemas["FolderEvent"]): string {
  const { folder, needBytes, needFiles } = summary;
  const rest = needBytes > 0 || needFiles > 0 ? `, ${size(needBytes)} in ${plural(needFiles, "file")} to go` : "";
  return `folder ${folder} is ${state || "paused"}${rest}${error ? `: ${error}` : ""}`;
}
