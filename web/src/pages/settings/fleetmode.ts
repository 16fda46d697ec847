import { useQueryClient } from "@tanstack/react-query";
import { ask, titled } from "../../api/client";
import { useMay } from "../../session/me";
import { done, warn } from "../../ui/act";
import { stopping } from "../../ui/stopping";

/** FleetMode is whether Muster writes to the whole fleet, only watches it, or does neither. */
export type FleetMode = "on" | "observe" | "paused";

/** modeQuestions are asked before the mode of the whole fleet is changed. */
export const modeQuestions: Record<FleetMode, { title: string; verb: string; says: string }> = {
  on: {
    title: "Write again to every device?",
    verb: stopping.observe.back,
    says: "What the plans of the devices have by now is applied. Daemons go on syncing.",
  },
  observe: {
    title: "Stop writing to every device?",
    verb: stopping.observe.act,
    says: "Muster goes on watching and planning. Only an administrator has it write again. Daemons go on syncing.",
  },
  paused: {
    title: "Stop watching every device?",
    verb: stopping.paused.act,
    says:
      "No device is watched or written to: what is shown here becomes old. Only an administrator has it watch again. " +
      "Daemons go on syncing.",
  },
};

/** useSetMode changes the mode of the whole fleet. Its message offers to take that back to those who may. */
export function useSetMode(): (to: FleetMode, former: FleetMode | undefined, title: string) => Promise<void> {
  const client = useQueryClient();
  const isAdmin = useMay("admin");
  const store = async (to: FleetMode, title: string) => {
    const now = await ask(titled(title).PUT("/api/v1/configurator", { body: { mode: to } }));
    void client.invalidateQueries();
    return now;
  };
  return async (to, former, title) => {
    const { warning } = await store(to, title);
    if (warning) return warn(warning);
    const told = done(to === "on" ? "Muster writes again" : stopping[to].stops);
    if (isAdmin && former) told.undo(() => store(former, "")); // Only an administrator has it write again.
  };
}
