import {
  IconArrowBackUp,
  IconBook,
  IconDeviceLaptop,
  IconDownload,
  IconEyeOff,
  IconFolderShare,
  IconHelpCircle,
  IconKey,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlugConnected,
  IconPlugConnectedX,
  IconPower,
  IconRefresh,
  type Icon,
} from "@tabler/icons-react";
import type { InventoryDevice } from "../api/inventory";
import { given, verbs, type GivenType } from "../pages/orders/words";
import type { FleetMode } from "../pages/settings/fleetmode";
import { includes, type Role } from "../session/roles";
import { shortID } from "../ui/format";
import { matches, wordsOf } from "../ui/search";
import { stopping } from "../ui/stopping";

/** Does is what an entry of the palette does: it goes to a page, opens the manual, or asks a question. */
export type Does =
  | { to: string }
  | { manual: string }
  | { order: GivenType; device: InventoryDevice }
  | { undo: number }
  | { mode: FleetMode }
  | { linkFor: string };

export interface Action {
  name: string;
  detail: string;
  icon: Icon;
  does: Does;
}

/** Known is what the palette needs to know of the server; undefined where it is not read, or the caller may not read it. */
export interface Known {
  role: Role;
  devices: InventoryDevice[];
  users: string[]; // who can get a log-in link
  rollout: { id: number; cause: string } | undefined; // the newest that can be undone
  mode: FleetMode | undefined; // of the whole fleet
}

const orderIcons: Record<GivenType, Icon> = {
  rescan: IconRefresh,
  restart: IconPower,
  upgrade: IconDownload,
  pause: IconPlugConnectedX,
  resume: IconPlugConnected,
};

type Offered = Action & { needs: Role; also?: string }; // also: other words for it

/** actionsFor are the actions that a text names and the caller may do, at most so many. */
export function actionsFor(text: string, known: Known, most: number): Action[] {
  const query = text.trim();
  if (query === "") return [];
  const may = ({ needs }: Offered) => includes(known.role, needs);
  const found: Action[] = general(known)
    .filter(may)
    .filter(({ name, detail, also }) => matches(query, [name, detail, also ?? ""]));
  for (const one of ofDevices(query, known)) {
    if (found.length >= most) break;
    found.push(one);
  }
  const manual: Action = {
    name: `Search the manual for ${query.slice(0, 40)}`,
    detail: "Manual",
    icon: IconBook,
    does: { manual: `search?q=${encodeURIComponent(query)}` },
  };
  return [...found.slice(0, most), manual];
}

function general({ rollout, mode, users }: Known): Offered[] {
  return [
    { name: "Share a folder", detail: "Form", icon: IconFolderShare, needs: "author", does: { to: "/templates/share" } },
    {
      name: "Add a device",
      detail: "Devices",
      icon: IconDeviceLaptop,
      needs: "admin",
      also: "register new",
      does: { to: "/devices?add=1" },
    },
    { name: "Open the manual", detail: "Manual", icon: IconBook, needs: "viewer", also: "docs help", does: { manual: "" } },
    ...users.map(linkFor),
    ...(rollout ? [undoOf(rollout)] : []),
    ...(mode ? switches(mode) : []),
  ];
}

function linkFor(user: string): Offered {
  return {
    name: `Make a log-in link for ${user}`,
    detail: "People",
    icon: IconKey,
    needs: "admin",
    also: "login invite password",
    does: { linkFor: user },
  };
}

function undoOf({ id, cause }: { id: number; cause: string }): Offered {
  return {
    name: `Undo the last rollout, ${id}`,
    detail: cause,
    icon: IconArrowBackUp,
    needs: "author",
    also: "take back",
    does: { undo: id },
  };
}

/** switches are the acts that change whether Muster writes to the whole fleet, as it is now. */
function switches(now: FleetMode): Offered[] {
  const detail = "The whole fleet";
  const on: Offered = {
    name: `${stopping.observe.back}, to all devices`,
    detail,
    icon: IconPlayerPlay,
    needs: "admin",
    also: "resume all writes start configurator on",
    does: { mode: "on" },
  };
  const observe: Offered = {
    name: `${stopping.observe.act} to all devices`,
    detail,
    icon: IconEyeOff,
    needs: "operator",
    also: "stop all writes pause observe only configurator",
    does: { mode: "observe" },
  };
  const paused: Offered = {
    name: `${stopping.paused.act} all devices`,
    detail,
    icon: IconPlayerPause,
    needs: "operator",
    also: "stop all writes pause configurator",
    does: { mode: "paused" },
  };
  return { on: [observe, paused], observe: [on, paused], paused: [on] }[now];
}

/** ofDevices are acts with a device that the text names besides the act: "rescan laptop". */
function* ofDevices(query: string, { role, devices }: Known): Generator<Action> {
  const words = wordsOf(query);
  const acts: { verb: string; needs: Role; icon: Icon; of: (device: InventoryDevice) => Does }[] = [
    ...given.map((type) => ({
      verb: verbs[type],
      needs: "operator" as const,
      icon: orderIcons[type],
      of: (device: InventoryDevice): Does => ({ order: type, device }),
    })),
    { verb: "Open", needs: "viewer", icon: IconDeviceLaptop, of: ({ deviceID }) => ({ to: `/devices/${deviceID}` }) },
    { verb: "Why, of a key on", needs: "viewer", icon: IconHelpCircle, of: ({ deviceID }) => ({ to: `/devices/${deviceID}/templates` }) },
  ];
  for (const { verb, needs, icon, of } of acts) {
    const verbWords = wordsOf(verb.replaceAll(",", ""));
    const isNamed = (word: string) => verbWords.some((one) => one.startsWith(word));
    if (!includes(role, needs) || !words.some(isNamed)) continue;
    const rest = words.filter((word) => !isNamed(word)).join(" ");
    for (const device of devices) {
      const name = device.label || shortID(device.deviceID);
      if (matches(rest, [name, shortID(device.deviceID)])) {
        yield { name: `${verb} ${name}`, detail: shortID(device.deviceID), icon, does: of(device) };
      }
    }
  }
}
