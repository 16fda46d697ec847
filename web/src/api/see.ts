import type { components } from "./schema";

export type Subject = NonNullable<components["schemas"]["Problem"]["see"]>;

/** pageOf is the page of the console that shows what an error is about, in words. */
const pageOf: Record<Subject["subject"], { says: string; path: (id: string) => string }> = {
  api: { says: "Load the page again, then try again", path: () => "" },
  devices: { says: "All devices", path: () => "/devices" },
  deviceState: { says: "The device says why", path: (id) => deviceAt(id) },
  devicePlan: { says: "The plan as it is now", path: (id) => deviceAt(id, "/plan") },
  deviceSettings: { says: "Settings of the device", path: (id) => deviceAt(id, "/settings") },
  deviceTrust: { says: "Both certificates, in the settings of the device", path: (id) => deviceAt(id, "/settings") },
  revisions: { says: "What was seen of the device", path: (id) => deviceAt(id, "/history") },
  templates: { says: "All templates", path: () => "/templates" },
  templateHistory: { says: "The template", path: (id) => (id ? `/templates/${id}` : "") },
  tags: { says: "All tags; capital letters count", path: () => "/tags" },
  folders: { says: "All folders", path: () => "/folders" },
  rollouts: { says: "All rollouts", path: () => "/rollouts" },
  orders: { says: "The devices, with the orders to each", path: () => "/devices" },
  consents: { says: "What waits now", path: () => "/waiting" },
  pending: { says: "What asks to be let in", path: () => "/waiting" },
  secrets: { says: "All secrets", path: () => "/settings?tab=secrets" },
  sessions: { says: "Your sessions", path: () => "/settings?tab=account" },
  users: { says: "All people", path: () => "/settings?tab=people" },
  tokens: { says: "All tokens", path: () => "/settings?tab=tokens" },
  enrollKeys: { says: "The enrol keys", path: () => "/settings?tab=enrolment" },
  enrollments: { says: "Who asks to be accepted", path: () => "/waiting" },
};

function deviceAt(id: string, tab = ""): string {
  return id ? `/devices/${id}${tab}` : "";
}

/** pageFor is a link to what an error is about. Where no page shows it, href is blank. */
export function pageFor(see: Subject): { says: string; href: string } {
  const { says, path } = pageOf[see.subject];
  return { says, href: path(see.id ?? "") };
}
