import { api, ask, titled } from "../../api/client";
import type { Role } from "../../session/roles";
import { stopping } from "../../ui/stopping";

/** applyNow applies the plan that a device has at this moment, without any consent. It gives "waits" where something waits for an answer. */
export async function applyNow(deviceID: string, title = ""): Promise<"waits" | undefined> {
  const path = { deviceID };
  const plan = await ask(api.GET("/api/v1/devices/{deviceID}/plan", { params: { path } }));
  const applied = await ask(
    titled(title).POST("/api/v1/devices/{deviceID}/apply", { params: { path }, body: { digest: plan.digest } }),
  );
  return applied.waiting.length > 0 ? "waits" : undefined;
}

async function setMode(deviceID: string, mode: "on" | "observe" | "paused", title: string) {
  await ask(titled(title).PUT("/api/v1/devices/{deviceID}/settings", { params: { path: { deviceID } }, body: { mode } }));
}

/** BulkAct is what this page of the browser does with many devices, one request for each. */
export interface BulkAct {
  entry: string; // of the menu
  ask: string; // before how many devices
  verb: string;
  says: string; // while it is done, and afterwards
  needs: Role;
  about: string;
  offline: string; // what becomes of devices that cannot be reached now
  isRed?: boolean;
  act: (deviceID: string, title: string) => Promise<unknown>;
}

const kept = "That is kept, and holds for them as well.";

/** bulkActs are the acts for many devices besides orders and tags. */
export const bulkActs = {
  apply: {
    entry: "Apply",
    ask: "Apply the plans of",
    verb: "Apply",
    says: "Plans applied",
    needs: "operator",
    about: "Each device gets what its plan has now. What is held waits for an answer.",
    offline: "It fails on them. Their plans are applied once they are back, where Muster writes.",
    act: applyNow,
  },
  observe: {
    entry: stopping.observe.act,
    ask: "Stop writing to",
    verb: stopping.observe.act,
    says: stopping.observe.state,
    needs: "operator",
    about: "Muster goes on watching and planning. Only an administrator has it write again.",
    offline: kept,
    act: (id, title) => setMode(id, "observe", title),
  },
  paused: {
    entry: stopping.paused.act,
    ask: "Stop watching",
    verb: stopping.paused.act,
    says: stopping.paused.state,
    needs: "operator",
    about: "Muster neither reads from these devices nor writes to them. The daemons go on syncing as they are.",
    offline: kept,
    act: (id, title) => setMode(id, "paused", title),
  },
  on: {
    entry: stopping.observe.back,
    ask: "Have Muster write again to",
    verb: stopping.observe.back,
    says: "Muster writes again",
    needs: "admin",
    about: "Muster watches and writes again: what their plans have by now is applied.",
    offline: kept,
    act: (id, title) => setMode(id, "on", title),
  },
  remove: {
    entry: "Remove…",
    ask: "Remove",
    verb: "Remove",
    says: "Removed",
    needs: "admin",
    about: "Their tags, vars, settings and history are deleted, and nothing brings them back. The daemons are left as they are and go on syncing.",
    offline: "That makes no difference: no daemon is told anything.",
    isRed: true,
    act: (deviceID, title) => ask(titled(title).DELETE("/api/v1/devices/{deviceID}", { params: { path: { deviceID } } })),
  },
} satisfies Record<string, BulkAct>;

export type BulkActName = keyof typeof bulkActs;
