import { api, ask, type Schemas } from "../../api/client";

/** wholeGroup is a group of what waits with all its devices. */
export async function wholeGroup(id: string): Promise<Schemas["WaitingGroup"]> {
  const { groups } = await ask(api.GET("/api/v1/waiting", { params: { query: { group: id } } }));
  const group = groups.find((one) => one.id === id);
  if (!group) throw new Error("this does not wait any more: load the page again");
  return group;
}

/** everyWaiting is all that waits, one row for each cause and device, or for a cause that is about no device. */
export async function everyWaiting(groups: Schemas["WaitingGroup"][]): Promise<object[]> {
  const rows: object[] = [];
  for (const group of groups) {
    const { devices } = group.deviceCount > group.devices.length ? await wholeGroup(group.id) : group;
    const { cause, severity, subject, reason, next, since, rollout } = group;
    const about = { cause, severity, subject, reason, next, since, rollout: rollout || null };
    const each = devices.map(({ deviceID, label, detail }) => ({ ...about, deviceID, label, detail }));
    rows.push(...(each.length > 0 ? each : [about]));
  }
  return rows;
}
