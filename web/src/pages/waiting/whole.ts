import { api, ask, type Schemas } from "../../api/client";

/** wholeGroup is a group of what waits with all its devices. */
export async function wholeGroup(id: string): Promise<Schemas["WaitingGroup"]> {
  const { groups } = await ask(api.GET("/api/v1/waiting", { params: { query: { group: id } } }));
  const group = groups.find((one) => one.id === id);
  if (!group) throw new Error("this does not wait any more: load the page again");
  return group;
}
