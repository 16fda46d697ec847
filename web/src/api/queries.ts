import { queryOptions } from "@tanstack/react-query";
import { api, ask, send, type Schemas } from "./client";

/** mostOneSided is how many one-sided shares are asked for at once. */
export const mostOneSided = 1000;

/** Every question that pages ask. The first word of a key is what live events name. */
export const queries = {
  whoami: () =>
    queryOptions({
      queryKey: ["whoami"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/whoami", { signal })),
      staleTime: Infinity,
    }),
  overview: () =>
    queryOptions({
      queryKey: ["overview"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/overview", { signal })),
      refetchInterval: 60_000,
    }),
  demo: () =>
    queryOptions({
      queryKey: ["demo"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/demo", { signal })),
      retry: false,
    }),
  history: () =>
    queryOptions({
      queryKey: ["history"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/overview/history", { signal, params: { query: { span: "day" } } })),
      refetchInterval: 60_000,
    }),
  waiting: () =>
    queryOptions({
      queryKey: ["waiting"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/waiting", { signal })),
      refetchInterval: 60_000,
    }),
  audit: (query: { limit: number; after?: string; who?: string; what?: string }) =>
    queryOptions({
      queryKey: ["audit", query],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/audit", { signal, params: { query } })),
    }),
  device: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "state"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/state", { signal, params: { path: { deviceID } } })),
      refetchInterval: 60_000,
    }),
  deviceStatus: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "status"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/status", { signal, params: { path: { deviceID } } })),
      retry: false,
    }),
  plan: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "plan"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/plan", { signal, params: { path: { deviceID } } })),
      retry: false,
    }),
  /** differences are what the plans of the devices of a filter would change, equal changes together. */
  differences: (query: { tag: string[]; version: string[]; os: string[] }) =>
    queryOptions({
      queryKey: ["differences", query],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/differences", { signal, params: { query } })),
      retry: false,
      refetchInterval: 15_000, // events do not read it again: each answer plans many devices
      placeholderData: (before) => before,
    }),
  config: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "config"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/config", { signal, params: { path: { deviceID } } })),
      retry: false,
    }),
  deviceSettings: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "settings"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/settings", { signal, params: { path: { deviceID } } })),
    }),
  deviceVars: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "vars"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/vars", { signal, params: { path: { deviceID } } })),
    }),
  effectiveVars: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "vars", "effective"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/vars/effective", { signal, params: { path: { deviceID } } })),
    }),
  deviceTrust: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "trust"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/trust", { signal, params: { path: { deviceID } } })),
    }),
  revisions: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "revisions"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/revisions", { signal, params: { path: { deviceID } } })),
    }),
  revisionDiff: (deviceID: string, number: number, other: number) =>
    queryOptions({
      queryKey: ["device", deviceID, "diff", number, other],
      queryFn: ({ signal }) =>
        ask(
          api.GET("/api/v1/devices/{deviceID}/revisions/{number}/diff/{other}", {
            signal,
            params: { path: { deviceID, number, other } },
          }),
        ),
      staleTime: Infinity,
    }),
  templates: () =>
    queryOptions({
      queryKey: ["templates"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/templates", { signal })),
    }),
  template: (templateID: number) =>
    queryOptions({
      queryKey: ["templates", templateID],
      queryFn: ({ signal }) =>
        send(api.GET("/api/v1/templates/{templateID}", { signal, params: { path: { templateID } } })),
      refetchOnWindowFocus: false,
    }),
  templateTags: (templateID: number) =>
    queryOptions({
      queryKey: ["templates", templateID, "tags"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/templates/{templateID}/tags", { signal, params: { path: { templateID } } })),
    }),
  templateSaver: (templateID: number) =>
    queryOptions({
      queryKey: ["templates", templateID, "saver"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/templates/{templateID}/saver", { signal, params: { path: { templateID } } })),
    }),
  templateVersions: (templateID: number) =>
    queryOptions({
      queryKey: ["templates", templateID, "history"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/templates/{templateID}/history", { signal, params: { path: { templateID } } })),
    }),
  templateVersion: (templateID: number, generation: number) =>
    queryOptions({
      queryKey: ["template-version", templateID, generation],
      queryFn: ({ signal }) =>
        ask(
          api.GET("/api/v1/templates/{templateID}/history/{generation}", {
            signal,
            params: { path: { templateID, generation } },
          }),
        ),
      staleTime: Infinity,
    }),
  deviceTemplates: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "templates"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/templates", { signal, params: { path: { deviceID } } })),
    }),
  why: (deviceID: string, key: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "why", key],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/why", { signal, params: { path: { deviceID }, query: { key } } })),
      retry: false,
    }),
  /** actions are the last orders to daemons; while one is carried out they are read often. */
  actions: () =>
    queryOptions({
      queryKey: ["actions"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/actions", { signal, params: { query: { limit: 100 } } })),
      refetchInterval: (query) => (query.state.data?.some((run) => run.status === "running") ? 2000 : 60_000),
    }),
  enrollments: () =>
    queryOptions({
      queryKey: ["enrollments"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/enrollments", { signal })),
      refetchInterval: 15_000,
    }),
  enrollKeys: () =>
    queryOptions({
      queryKey: ["enroll-keys"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/enroll-keys", { signal })),
    }),
  tagProtection: (tag: string) =>
    queryOptions({
      queryKey: ["tags", tag, "protection"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/tags/{tag}/protection", { signal, params: { path: { tag } } })),
    }),
  /** deviceFolders is what the daemon last said about each of its folders. */
  deviceFolders: (deviceID: string) =>
    queryOptions({
      queryKey: ["device", deviceID, "folders"],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/devices/{deviceID}/folders", { signal, params: { path: { deviceID } } })),
    }),
  /** folderOverviews are all folders with the numbers of their devices, in one answer. */
  folderOverviews: () =>
    queryOptions({
      queryKey: ["folder-overviews"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/overview/folders", { signal })),
      refetchInterval: 60_000,
    }),
  /** tagOverviews are all tags with what carries them, in one answer. */
  tagOverviews: () =>
    queryOptions({
      queryKey: ["tag-overviews"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/overview/tags", { signal })),
    }),
  tags: () =>
    queryOptions({ queryKey: ["tags"], queryFn: ({ signal }) => ask(api.GET("/api/v1/tags", { signal })) }),
  tagTemplates: (tag: string) =>
    queryOptions({
      queryKey: ["templates", "of", tag],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/tags/{tag}/templates", { signal, params: { path: { tag } } })),
    }),
  tagSettings: (tag: string) =>
    queryOptions({
      queryKey: ["tags", tag, "settings"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/tags/{tag}/settings", { signal, params: { path: { tag } } })),
    }),
  tagVars: (tag: string) =>
    queryOptions({
      queryKey: ["tags", tag, "vars"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/tags/{tag}/vars", { signal, params: { path: { tag } } })),
    }),
  folders: () =>
    queryOptions({ queryKey: ["folders"], queryFn: ({ signal }) => ask(api.GET("/api/v1/folders", { signal })) }),
  folder: (folderID: string) =>
    queryOptions({
      queryKey: ["folders", folderID],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/folders/{folderID}", { signal, params: { path: { folderID } } })),
    }),
  folderShares: (folderID: string) =>
    queryOptions({
      queryKey: ["folder-shares", folderID],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/folders/{folderID}/shares", { signal, params: { path: { folderID } } })),
    }),
  oneSidedShares: (q: string) =>
    queryOptions({
      queryKey: ["one-sided-shares", q],
      queryFn: ({ signal }) =>
        ask(
          api.GET("/api/v1/overview/one-sided-shares", {
            signal,
            params: { query: { limit: mostOneSided, ...(q ? { q } : {}) } },
          }),
        ),
      refetchInterval: 15_000,
      placeholderData: (before) => before,
    }),
  folderMatrix: ({ q, tag }: { q: string; tag: string }) =>
    queryOptions({
      queryKey: ["folder-matrix", q, tag],
      queryFn: ({ signal }) =>
        ask(
          api.GET("/api/v1/overview/matrix", {
            signal,
            params: { query: { ...(q ? { q } : {}), ...(tag ? { tag } : {}) } },
          }),
        ),
      refetchInterval: 15_000,
      placeholderData: (before) => before,
    }),
  rollouts: () =>
    queryOptions({
      queryKey: ["rollouts"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/rollouts", { signal })),
    }),
  rollout: (rolloutID: number) =>
    queryOptions({
      queryKey: ["rollouts", rolloutID],
      queryFn: ({ signal }) =>
        ask(api.GET("/api/v1/rollouts/{rolloutID}", { signal, params: { path: { rolloutID } } })),
    }),
  sessions: () =>
    queryOptions({ queryKey: ["sessions"], queryFn: ({ signal }) => ask(api.GET("/api/v1/sessions", { signal })) }),
  users: () =>
    queryOptions({ queryKey: ["users"], queryFn: ({ signal }) => ask(api.GET("/api/v1/users", { signal })) }),
  tokens: () =>
    queryOptions({ queryKey: ["tokens"], queryFn: ({ signal }) => ask(api.GET("/api/v1/tokens", { signal })) }),
  secrets: () =>
    queryOptions({ queryKey: ["secrets"], queryFn: ({ signal }) => ask(api.GET("/api/v1/secrets", { signal })) }),
  folderRoots: () =>
    queryOptions({
      queryKey: ["folder-roots"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/folder-roots", { signal })),
    }),
  configurator: () =>
    queryOptions({
      queryKey: ["configurator"],
      queryFn: ({ signal }) => ask(api.GET("/api/v1/configurator", { signal })),
    }),
};

export type Rollout = Schemas["Rollout"];
export type PlannedChange = Schemas["PlannedChange"];
