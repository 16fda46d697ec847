import type { components } from "./schema";

export type Subject = NonNullable<components["schemas"]["Problem"]["see"]>;

/** placeOf is the page of the console that shows what an error is about; blank where none does. */
const placeOf: Record<Subject["subject"], (id: string) => string> = {
  api: () => "",
  request: () => "",
  devices: () => "/devices",
  deviceState: (id) => deviceAt(id),
  devicePlan: (id) => deviceAt(id, "/plan"),
  deviceSettings: (id) => deviceAt(id, "/settings"),
  deviceTrust: (id) => deviceAt(id, "/settings"),
  revisions: (id) => deviceAt(id, "/history"),
  templates: () => "/templates",
  templateHistory: (id) => (id ? `/templates/${id}` : ""),
  tags: () => "/tags",
  folders: () => "/folders",
  rollouts: () => "/rollouts",
  orders: () => "/devices",
  consents: () => "/waiting",
  pending: () => "/waiting",
  sinks: () => "/settings?tab=sinks",
  secrets: () => "/settings?tab=secrets",
  sessions: () => "/settings?tab=account",
  users: () => "/settings?tab=people",
  tokens: () => "/settings?tab=tokens",
  enrollKeys: () => "/settings?tab=enrolment",
  enrollments: () => "/waiting",
  channels: () => "/settings?tab=notifications",
  routes: () => "/settings?tab=notifications",
  silences: () => "/settings?tab=notifications",
};

function deviceAt(id: string, tab = ""): string {
  return id ? `/devices/${id}${tab}` : "";
}

/** pageFor is what an error is about in the server's words, with its page. */
export function pageFor(see: Subject): { says: string; href: string } {
  return { says: see.says, href: placeOf[see.subject](see.id ?? "") };
}
