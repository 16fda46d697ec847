import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, send, type Schemas } from "./client";
import { withDigits } from "./digits";
import type { operations } from "./schema";
import { at, pages, question } from "./question";

/** mostOneSided is how many one-sided shares are asked for at once. */
export const mostOneSided = 1000;

/** mostNamed is how many devices one question names: their IDs are in its address. */
export const mostNamed = 50;

/** sharesAtOnce is of how many devices one page shows how they share a folder. */
export const sharesAtOnce = 20;
const peersAtOnce = 12; // of one of these devices, connected to it, and as many that are not
const failedAtOnce = 100; // failed items, or conflict files, of one answer
const before = { placeholderData: <T>(last: T | undefined) => last }; // an answer stays until the next one is there

/** FolderDevicesQuery picks devices of a folder. */
export type FolderDevicesQuery = NonNullable<operations["listFolderDevices"]["parameters"]["query"]>;

/** FolderMatrixQuery picks devices and folders of the matrix. */
export type FolderMatrixQuery = NonNullable<operations["getFolderMatrix"]["parameters"]["query"]>;

/** LogQuery picks kept events. */
export interface LogQuery {
  device?: string;
  folder?: string;
  kind?: Schemas["LogEntry"]["kind"][];
  since?: string;
  limit?: number;
}

/** Every question that pages ask. The first word of a key is what live events name. */
export const queries = {
  whoami: () => question(["whoami"], (signal) => api.GET("/api/v1/whoami", { signal }), { staleTime: Infinity }),
  version: () => question(["version"], (signal) => api.GET("/api/v1/version", { signal })),
  settings: () => question(["settings"], (signal) => api.GET("/api/v1/settings", { signal })),
  overview: () =>
    question(["overview"], (signal) => api.GET("/api/v1/overview", { signal }), { refetchInterval: 60_000 }),
  demo: () => question(["demo"], (signal) => api.GET("/api/v1/demo", { signal }), { retry: false }),
  history: () =>
    question(
      ["history"],
      (signal) => api.GET("/api/v1/overview/history", { signal, params: { query: { span: "day" } } }),
      { refetchInterval: 60_000 },
    ),
  waiting: () =>
    question(["waiting"], (signal) => api.GET("/api/v1/waiting", { signal }), { refetchInterval: 60_000 }),
  recentChanges: () =>
    question(
      ["audit", "changes"],
      (signal) => api.GET("/api/v1/audit/changes", { signal, params: { query: { limit: 12 } } }),
      { refetchInterval: 30_000 },
    ),
  undoableChanges: () =>
    question(["audit", "undoable"], (signal) =>
      api.GET("/api/v1/audit/changes", { signal, params: { query: { limit: 100 } } }),
    ),
  device: (deviceID: string) =>
    question(
      ["device", deviceID, "state"],
      (signal) => api.GET("/api/v1/devices/{deviceID}/state", at(signal, { deviceID })),
      { refetchInterval: 60_000 },
    ),
  deviceStatus: (deviceID: string) =>
    question(
      ["device", deviceID, "status"],
      (signal) => api.GET("/api/v1/devices/{deviceID}/status", at(signal, { deviceID })),
      { retry: false },
    ),
  plan: (deviceID: string) =>
    question(
      ["device", deviceID, "plan"],
      (signal) => api.GET("/api/v1/devices/{deviceID}/plan", at(signal, { deviceID })),
      { retry: false },
    ),
  /** differences are what the plans of the devices of a filter would change, equal changes together. */
  differences: (query: { tag: string[]; version: string[]; os: string[]; outdated?: true }) =>
    question(["differences", query], (signal) => api.GET("/api/v1/differences", { signal, params: { query } }), {
      ...before,
      retry: false,
      refetchInterval: 15_000, // events do not read it again: each answer plans many devices
    }),
  config: (deviceID: string) =>
    question(
      ["device", deviceID, "config"],
      (signal) => api.GET("/api/v1/devices/{deviceID}/config", at(signal, { deviceID })),
      { retry: false },
    ),
  /** managedKeys are the keys of the configuration that templates manage. */
  managedKeys: (deviceID: string) =>
    question(
      ["device", deviceID, "config", "managed"],
      (signal) => api.GET("/api/v1/devices/{deviceID}/config/managed", at(signal, { deviceID })),
      { retry: false },
    ),
  /** deviceRecord is a device as it is registered, without its API key. */
  deviceRecord: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "record"],
      queryFn: ({ signal }) =>
        send(
          api.GET("/api/v1/devices/{deviceID}", { params: { path: { deviceID }, query: { mask: true } }, signal }),
        ),
    }),
  /** relabelled is what another label of a device would change. */
  relabelled: (deviceID: string, label: string) =>
    queryOptions({
      queryKey: ["plan", "label", deviceID, label],
      queryFn: ({ signal }) => ask(api.POST("/api/v1/fleet/plan", { body: { devices: { [deviceID]: { label } } }, signal })),
      retry: false,
      gcTime: 60_000,
    }),
  deviceSettings: (deviceID: string) =>
    question(["device", deviceID, "settings"], (signal) =>
      api.GET("/api/v1/devices/{deviceID}/settings", at(signal, { deviceID })),
    ),
  deviceVars: (deviceID: string) =>
    question(
      ["device", deviceID, "vars"],
      (signal) =>
        withDigits<Schemas["Vars"]>(api.GET("/api/v1/devices/{deviceID}/vars", { ...at(signal, { deviceID }), parseAs: "text" })),
      { refetchInterval: 5000 }, // no event tells of vars
    ),
  effectiveVars: (deviceID: string) =>
    question(["device", deviceID, "vars", "effective"], (signal) =>
      withDigits<Schemas["EffectiveVars"]>(
        api.GET("/api/v1/devices/{deviceID}/vars/effective", { ...at(signal, { deviceID }), parseAs: "text" }),
      ),
    ),
  deviceTrust: (deviceID: string) =>
    question(["device", deviceID, "trust"], (signal) =>
      api.GET("/api/v1/devices/{deviceID}/trust", at(signal, { deviceID })),
    ),
  revisions: (deviceID: string) =>
    question(["device", deviceID, "revisions"], (signal) =>
      api.GET("/api/v1/devices/{deviceID}/revisions", at(signal, { deviceID })),
    ),
  revisionDiff: (deviceID: string, number: number, other: number) =>
    question(
      ["device", deviceID, "diff", number, other],
      (signal) =>
        api.GET("/api/v1/devices/{deviceID}/revisions/{number}/diff/{other}", at(signal, { deviceID, number, other })),
      { staleTime: Infinity },
    ),
  /** restorePreview is what a restore of a revision would change now; the daemon is read for it. */
  restorePreview: (deviceID: string, number: number, section: string) =>
    question(
      ["restore-preview", deviceID, number, section],
      (signal) =>
        api.POST("/api/v1/devices/{deviceID}/revisions/{number}/restore", {
          ...at(signal, { deviceID, number }),
          body: { section, preview: true },
        }),
      { staleTime: "static", gcTime: 0, retry: false },
    ),
  templates: () => question(["templates"], (signal) => api.GET("/api/v1/templates", { signal })),
  template: (templateID: number) =>
    queryOptions({
      queryKey: ["templates", templateID],
      queryFn: ({ signal }) =>
        send(api.GET("/api/v1/templates/{templateID}", { signal, params: { path: { templateID } } })),
      refetchOnWindowFocus: false,
    }),
  templateTags: (templateID: number) =>
    question(["templates", templateID, "tags"], (signal) =>
      api.GET("/api/v1/templates/{templateID}/tags", at(signal, { templateID })),
    ),
  templateSaver: (templateID: number) =>
    question(["templates", templateID, "saver"], (signal) =>
      api.GET("/api/v1/templates/{templateID}/saver", at(signal, { templateID })),
    ),
  forms: () => question(["forms"], (signal) => api.GET("/api/v1/forms", { signal }), { staleTime: Infinity }),
  configSettings: () =>
    question(["config-settings"], (signal) => api.GET("/api/v1/config-settings", { signal }), { staleTime: Infinity }),
  templateForm: (templateID: number) =>
    question(["templates", templateID, "form"], (signal) =>
      api.GET("/api/v1/templates/{templateID}/form", at(signal, { templateID })),
    ),
  writtenForm: (body: Schemas["WriteForm"]) => ({
    ...question(["written-form", body], (signal) => api.POST("/api/v1/templates/form", { signal, body })),
    retry: false,
  }),
  templateVersions: (templateID: number) =>
    question(["templates", templateID, "history"], (signal) =>
      api.GET("/api/v1/templates/{templateID}/history", at(signal, { templateID })),
    ),
  templateVersion: (templateID: number, generation: number) =>
    question(
      ["template-version", templateID, generation],
      (signal) =>
        api.GET("/api/v1/templates/{templateID}/history/{generation}", at(signal, { templateID, generation })),
      { staleTime: Infinity },
    ),
  deviceTemplates: (deviceID: string) =>
    question(["device", deviceID, "templates"], (signal) =>
      api.GET("/api/v1/devices/{deviceID}/templates", at(signal, { deviceID })),
    ),
  why: (deviceID: string, key: string) =>
    question(
      ["device", deviceID, "why", key],
      (signal) =>
        api.GET("/api/v1/devices/{deviceID}/why", { signal, params: { path: { deviceID }, query: { key } } }),
      { retry: false },
    ),
  /** orders are the last orders to daemons, or to one; while one is carried out they are read often. */
  orders: (device = "") =>
    question(
      ["orders", device],
      (signal) =>
        api.GET("/api/v1/orders", { signal, params: { query: { limit: 100, brief: true, ...(device ? { device } : {}) } } }),
      { refetchInterval: (query) => (query.state.data?.some((run) => run.status === "running") ? 2000 : 60_000) },
    ),
  /** order is one order with all its devices. */
  order: (orderID: number) =>
    question(["orders", "one", orderID], (signal) => api.GET("/api/v1/orders/{orderID}", at(signal, { orderID })), {
      refetchInterval: (query) => (query.state.data?.status === "running" ? 2000 : false),
    }),
  enrollments: () =>
    question(["enrollments"], (signal) => api.GET("/api/v1/enrollments", { signal }), { refetchInterval: 15_000 }),
  revocations: () => question(["revocations"], (signal) => api.GET("/api/v1/revocations", { signal })),
  /** revocation is the certificate of a revocation. */
  revocation: (deviceID: string) =>
    question(
      ["revocations", deviceID],
      (signal) => api.GET("/api/v1/revocations/{deviceID}", at(signal, { deviceID })),
      { refetchInterval: ({ state }) => (state.data?.complete ? 60_000 : 3_000) },
    ),
  /** revocationProofs say of each managed device what is proven about a revoked one, a part at a time. */
  revocationProofs: (deviceID: string) =>
    pages(
      ["revocations", deviceID, "devices"],
      (signal, after) =>
        api.GET("/api/v1/revocations/{deviceID}/devices", {
          signal,
          params: { path: { deviceID }, query: { limit: 100, ...(after ? { after } : {}) } },
        }),
      { refetchInterval: 10_000 },
    ),
  /** revocationPlan is what the revocation of a device would change. */
  revocationPlan: (device: string) =>
    question(["plan", "revocation", device], (signal) =>
      api.POST("/api/v1/plan", { body: { revocations: { added: [{ device }] } }, signal }),
    ),
  channels: () => question(["channels"], (signal) => api.GET("/api/v1/channels", { signal }), { refetchInterval: 15_000 }),
  deliveries: (channel: string) =>
    question(
      ["channels", channel, "deliveries"],
      (signal) => api.GET("/api/v1/channels/{channel}/deliveries", at(signal, { channel })),
      { refetchInterval: 15_000 },
    ),
  routes: () => question(["routes"], (signal) => api.GET("/api/v1/routes", { signal })),
  silences: () => question(["silences"], (signal) => api.GET("/api/v1/silences", { signal }), { refetchInterval: 15_000 }),
  enrollKeys: () => question(["enroll-keys"], (signal) => api.GET("/api/v1/enroll-keys", { signal })),
  tagProtection: (tag: string) =>
    question(["tags", tag, "protection"], (signal) => api.GET("/api/v1/tags/{tag}/protection", at(signal, { tag }))),
  /** deviceFolders is how each folder of a device stands there. */
  deviceFolders: (deviceID: string) =>
    question(
      ["device", deviceID, "folders"],
      (signal) => api.GET("/api/v1/devices/{deviceID}/folders", at(signal, { deviceID })),
      { refetchInterval: 30_000 },
    ),
  /** folderOverviews are all folders with the numbers of their devices, in one answer. */
  folderOverviews: () =>
    question(
      ["folder-overviews"],
      (signal) => api.GET("/api/v1/overview/folders", { signal }),
      { refetchInterval: 60_000 },
    ),
  /** tagOverviews are all tags with what carries them, in one answer. */
  tagOverviews: () => question(["tag-overviews"], (signal) => api.GET("/api/v1/overview/tags", { signal })),
  tags: () => question(["tags"], (signal) => api.GET("/api/v1/tags", { signal })),
  tagTemplates: (tag: string) =>
    question(["templates", "of", tag], (signal) => api.GET("/api/v1/tags/{tag}/templates", at(signal, { tag }))),
  tagSettings: (tag: string) =>
    question(["tags", tag, "settings"], (signal) => api.GET("/api/v1/tags/{tag}/settings", at(signal, { tag }))),
  tagVars: (tag: string) =>
    question(
      ["tags", tag, "vars"],
      (signal) => withDigits<Schemas["Vars"]>(api.GET("/api/v1/tags/{tag}/vars", { ...at(signal, { tag }), parseAs: "text" })),
      { refetchInterval: 5000 },
    ),
  folders: () => question(["folders"], (signal) => api.GET("/api/v1/folders", { signal })),
  /** someDevices are rows of the table of devices, for a page that shows a few devices. */
  someDevices: (device: string[]) =>
    question(
      ["some-devices", device],
      (signal) => api.GET("/api/v1/inventory", { signal, params: { query: { device } } }),
      { staleTime: 60_000 },
    ),
  /** folderDevices are how a folder is on some of the devices that have it, a page at a time. */
  folderDevices: (folderID: string, query: FolderDevicesQuery) =>
    queryOptions({
      queryKey: ["folder-state", folderID, "devices", query],
      queryFn: ({ signal }) =>
        send(api.GET("/api/v1/folders/{folderID}/devices", { signal, params: { path: { folderID }, query } })),
      placeholderData: keepPreviousData,
      refetchInterval: 30_000,
    }),
  /** folderState is how a folder is in the fleet. */
  folderState: (folderID: string) =>
    question(
      ["folder-state", folderID, "fleet"],
      (signal) => api.GET("/api/v1/folders/{folderID}/state", at(signal, { folderID })),
      { refetchInterval: 30_000 },
    ),
  /** folderHistory is a folder in numbers over the last day or month, where they changed. */
  folderHistory: (folderID: string, span: "day" | "month") =>
    question(
      ["history", folderID, span],
      (signal) =>
        api.GET("/api/v1/folders/{folderID}/history", { signal, params: { path: { folderID }, query: { span } } }),
      // Who sees a part of the fleet only is refused: to ask again would change nothing.
      { refetchInterval: (query) => (query.state.error ? false : 60_000), retry: false },
    ),
  /** failedItems are the items of a folder that daemons could not sync, a part at a time. */
  failedItems: (folderID: string) =>
    pages(["folder-state", folderID, "failed"], (signal, after) =>
      api.GET("/api/v1/folders/{folderID}/failed", {
        signal,
        params: { path: { folderID }, query: { limit: failedAtOnce, ...(after ? { after } : {}) } },
      }),
    ),
  /** conflictFiles are the conflict files of a folder, the newest first, a part at a time. */
  conflictFiles: (folderID: string) =>
    pages(["folder-state", folderID, "conflicts"], (signal, after) =>
      api.GET("/api/v1/folders/{folderID}/conflicts", {
        signal,
        params: { path: { folderID }, query: { limit: failedAtOnce, ...(after ? { after } : {}) } },
      }),
    ),
  /** file is one file of a folder on each device. Events do not read it again: every answer asks daemons. */
  file: (folderID: string, path: string) =>
    question(["file", folderID, path], (signal) =>
      api.GET("/api/v1/folders/{folderID}/files", { signal, params: { path: { folderID }, query: { path } } }),
    ),
  deviceDisks: (deviceID: string) =>
    question(
      ["device", deviceID, "disks"],
      (signal) => api.GET("/api/v1/devices/{deviceID}/disks", at(signal, { deviceID })),
      { refetchInterval: 60_000 },
    ),
  /** folderCopies asks the daemons that have a folder: only a person who wants to know begins that, and no event. */
  folderCopies: (folderID: string) =>
    question(
      ["folder-copies", folderID],
      (signal) => api.GET("/api/v1/folders/{folderID}/copies", at(signal, { folderID })),
      { staleTime: "static", retry: false },
    ),
  /** deviceAtRisk asks the daemons that share folders with a device, likewise. */
  deviceAtRisk: (deviceID: string) =>
    question(
      ["device-at-risk", deviceID],
      (signal) => api.GET("/api/v1/devices/{deviceID}/at-risk", at(signal, { deviceID })),
      { staleTime: "static", retry: false },
    ),
  /** eventLog are events that the server keeps, the newest first, a part at a time. */
  eventLog: ({ device, ...rest }: LogQuery) =>
    pages(
      ["event-log", device, rest],
      (signal, after) =>
        api.GET("/api/v1/events/log", {
          signal,
          params: {
            query: { limit: 50, ...rest, ...(device ? { device: [device] } : {}), ...(after ? { after } : {}) },
          },
        }),
      { refetchInterval: 30_000 },
    ),
  /** deviceLog is the daemon's own log; the daemon is asked for it. */
  deviceLog: (deviceID: string) =>
    question(
      ["device-log", deviceID],
      (signal) => api.GET("/api/v1/devices/{deviceID}/log", at(signal, { deviceID })),
      { retry: false },
    ),
  /** folderShares are how some devices share a folder, a page at a time. */
  folderShares: (folderID: string, after: string) =>
    queryOptions({
      queryKey: ["folder-shares", folderID, after],
      queryFn: ({ signal }) =>
        send(
          api.GET("/api/v1/folders/{folderID}/shares", {
            signal,
            params: { path: { folderID }, query: { limit: sharesAtOnce, peers: peersAtOnce, ...(after ? { after } : {}) } },
          }),
        ),
      placeholderData: keepPreviousData,
    }),
  /** oneSidedOfFolder are the shares of a folder that only one side has, of the first 200 devices. */
  oneSidedOfFolder: (folderID: string) =>
    queryOptions({
      queryKey: ["folder-shares", folderID, "one-sided"],
      queryFn: ({ signal }) =>
        send(
          api.GET("/api/v1/folders/{folderID}/shares", {
            signal,
            params: { path: { folderID }, query: { side: "onlyHere", peers: peersAtOnce } },
          }),
        ),
    }),
  oneSidedShares: (q: string) =>
    question(
      ["one-sided-shares", q],
      (signal) =>
        api.GET("/api/v1/overview/one-sided-shares", {
          signal,
          params: { query: { limit: mostOneSided, ...(q ? { q } : {}) } },
        }),
      { ...before, refetchInterval: 15_000 },
    ),
  /** folderMatrix is the part of folders by device that shows. */
  folderMatrix: (query: FolderMatrixQuery) =>
    question(
      ["folder-matrix", query],
      (signal) => api.GET("/api/v1/overview/matrix", { signal, params: { query } }),
      { ...before, refetchInterval: 15_000 },
    ),
  /** rolloutRest plans the devices of the rollout. Its key is apart from the others, so that no event plans them again. */
  rolloutRest: (rolloutID: number) =>
    question(["rollout-rest", rolloutID], (signal) =>
      api.GET("/api/v1/rollouts/{rolloutID}/rest", at(signal, { rolloutID })),
    ),
  rollouts: () => question(["rollouts"], (signal) => api.GET("/api/v1/rollouts", { signal })),
  rollout: (rolloutID: number) =>
    question(["rollouts", rolloutID], (signal) => api.GET("/api/v1/rollouts/{rolloutID}", at(signal, { rolloutID }))),
  sessions: () => question(["sessions"], (signal) => api.GET("/api/v1/sessions", { signal })),
  users: () => question(["users"], (signal) => api.GET("/api/v1/users", { signal })),
  tokens: () => question(["tokens"], (signal) => api.GET("/api/v1/tokens", { signal })),
  sinks: () => question(["sinks"], (signal) => api.GET("/api/v1/sinks", { signal })),
  secrets: () => question(["secrets"], (signal) => api.GET("/api/v1/secrets", { signal })),
  folderRoots: () => question(["folder-roots"], (signal) => api.GET("/api/v1/folder-roots", { signal })),
  configurator: () => question(["configurator"], (signal) => api.GET("/api/v1/configurator", { signal })),
};

export type Rollout = Schemas["Rollout"];
export type PlannedChange = Schemas["PlannedChange"];
