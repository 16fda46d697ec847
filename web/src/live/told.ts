import type { Schemas } from "../api/client";
import { plural, size } from "../ui/format";
import type { DeviceEvent, FolderEvent, LiveEvent } from "./patch";

export interface Told {
  text: string;
  href: string;
}

interface StatusEvent {
  status: Pick<Schemas["DeviceStatus"], "alloc"> | null;
  version: Pick<Schemas["DeviceVersion"], "version"> | null;
}
interface TemplateEvent {
  id: number;
  label: string;
  deleted: boolean;
}
type Rollout = Pick<Schemas["Rollout"], "id" | "status" | "reason">;
type Pending = Pick<Schemas["OverviewOfPending"], "devices" | "folders">;

/** told says what an event is about, in a sentence. What this console does not know yet is told by its type. */
export function told({ type, data }: LiveEvent): Told {
  switch (type) {
    case "device":
    case "plan":
      return { text: ofDevice(data as DeviceEvent), href: "" };
    case "status":
      return { text: ofStatus(data as StatusEvent), href: "" };
    case "folder": {
      const { summary } = data as FolderEvent;
      return { text: ofFolder(data as FolderEvent), href: `/folders/${encodeURIComponent(summary.folder)}` };
    }
    case "config":
      return { text: "another configuration was seen", href: "" };
    case "rollout": {
      const { id, status, reason } = data as Rollout;
      return { text: `rollout ${id} is ${status}${reason ? `: ${reason}` : ""}`, href: `/rollouts/${id}` };
    }
    case "pending": {
      const { devices, folders } = data as Pending;
      return { text: `${plural(devices, "device")} and ${plural(folders, "folder")} ask to be let in`, href: "/" };
    }
    case "template": {
      const { id, label, deleted } = data as TemplateEvent;
      const name = label || `template ${id}`;
      return { text: `${name} was ${deleted ? "deleted" : "saved or tagged"}`, href: deleted ? "" : `/templates/${id}` };
    }
    case "missed":
      return { text: "events are missing: the pages were read anew", href: "" };
    default:
      return { text: type, href: "" };
  }
}

function ofDevice({ deleted, state }: DeviceEvent): string {
  if (deleted || !state) return "is registered no more";
  return [`${state.connection}, ${state.configuration}`, state.reason].filter(Boolean).join(": ");
}

function ofStatus({ version, status }: StatusEvent): string {
  const runs = version ? `runs ${version.version}` : "its version is not known";
  return status ? `${runs}, ${size(status.alloc)} in use` : runs;
}

function ofFolder({ summary, state, error }: FolderEvent): string {
  const { folder, needBytes, needFiles } = summary;
  const rest = needBytes > 0 || needFiles > 0 ? `, ${size(needBytes)} in ${plural(needFiles, "file")} to go` : "";
  return `folder ${folder} is ${state || "paused"}${rest}${error ? `: ${error}` : ""}`;
}
