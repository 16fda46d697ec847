/** Stopping is a way of stopping. The words are those of docs/concepts.md; a test compares them. */
export interface Stopping {
  state: string;
  stops: string;
  goesOn: string;
  act: string;
  back: string;
}

/** stopping are the four ways of stopping: two stop Muster, and two stop a daemon. */
export const stopping = {
  observe: {
    state: "Observe only",
    stops: "Muster writes nothing",
    goesOn: "Muster watches and plans; daemons sync",
    act: "Stop writing",
    back: "Write again",
  },
  paused: {
    state: "Not watched",
    stops: "Muster reads and writes nothing; what it shows becomes old",
    goesOn: "Daemons sync",
    act: "Stop watching",
    back: "Write again",
  },
  connections: {
    state: "Connections paused",
    stops: "The daemon exchanges nothing with other devices",
    goesOn: "Muster watches and writes; the daemon runs",
    act: "Pause connections",
    back: "Resume connections",
  },
  folder: {
    state: "Folder paused",
    stops: "One folder is neither scanned nor synced on a device",
    goesOn: "Muster watches and writes; all other folders sync",
    act: "Pause folder",
    back: "Resume folder",
  },
} as const satisfies Record<string, Stopping>;

/** modeChoices are the modes to choose from, for a role that may make a mode stricter, or change it at will. */
export function modeChoices(isAdmin: boolean, isOperator: boolean) {
  return [
    { value: "on", label: "On: watch, plan and write", disabled: !isAdmin },
    { value: "observe", label: "Observe only: watch and plan, write nothing", disabled: !isOperator },
    { value: "paused", label: "Not watched: read and write nothing", disabled: !isOperator },
  ];
}
