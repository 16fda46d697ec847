import { failed } from "../ui/act";
import { api, ask, root } from "./client";

/** download opens a path of the API in the browser, which sends no header with it: a ticket does in its place. */
export async function download(path: string) {
  try {
    const ticket = await ask(api.POST("/api/v1/tickets", { body: { path } }));
    location.assign(`${root}${ticket.path}`);
  } catch (error) {
    failed(error);
  }
}
