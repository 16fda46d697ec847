import createClient from "openapi-fetch";
import { waitForLogIn } from "../session/gate";
import { half, halfHeader } from "../session/half";
import { Problem, problemOf } from "./problem";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** root is where the server's paths begin: one above the console, whatever prefix a proxy puts before it. */
export const root = new URL("../", document.baseURI).href.replace(/\/$/, "");

const logInPath = "/api/v1/login";

/**
 * fetchWithSession sends a request. Where the session has ended it waits until the person has logged in again, and
 * sends the request once more: what the person typed or clicked is not lost.
 */
async function fetchWithSession(request: Request): Promise<Response> {
  for (;;) {
    const attempt = request.clone();
    const sent = half.now();
    attempt.headers.set(halfHeader, sent);
    let response: Response;
    try {
      response = await fetch(attempt);
    } catch (error) {
      if (request.signal.aborted) throw error;
      throw new Problem({
        title: "No connection",
        status: 0,
        detail: "the server does not answer",
        hint: "The page asks again until it does.",
      });
    }
    if (response.status !== 401 || new URL(request.url).pathname.endsWith(logInPath)) return response;
    if (half.now() !== sent) continue; // another tab has logged in meanwhile
    await waitForLogIn();
  }
}

export const api = createClient<paths>({ baseUrl: root, fetch: fetchWithSession, credentials: "same-origin" });

/** titled is the client whose requests have what a person wrote about the change: it becomes the title of the change. */
export function titled(title: string): typeof api {
  const headers = titleHeader(title);
  return "Muster-Message" in headers
    ? createClient<paths>({ baseUrl: root, fetch: fetchWithSession, credentials: "same-origin", headers })
    : api;
}

/** titleHeader is the header with a title; nothing without one. */
function titleHeader(title: string): Record<string, string> {
  return title.trim() === "" ? {} : { "Muster-Message": encodeURIComponent(title.trim()) };
}

export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** ask gives what the server answers; an error is thrown as a Problem. */
export async function ask<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw problemOf(error, response);
  return data as T;
}

/**
 * send is ask with the headers that belong to what was read or stored; after is where the next part of a list begins.
 */
export async function send<T>(
  answer: Promise<Answer<T>>,
): Promise<{ data: T; etag: string; warning: string; after: string }> {
  const { data, error, response } = await answer;
  if (!response.ok) throw problemOf(error, response);
  return {
    data: data as T,
    etag: response.headers.get("ETag") ?? "",
    warning: unescaped(response.headers.get("Muster-Warning") ?? ""),
    after: afterOf(response.headers.get("Link") ?? ""),
  };
}

/** afterOf reads from a Link header where the next part of a list begins; blank after the last one. */
export function afterOf(link: string): string {
  const next = /<([^>]*)>\s*;\s*rel="next"/.exec(link)?.[1] ?? "";
  return new URLSearchParams(next.split("?")[1] ?? "").get("after") ?? "";
}

/** unescaped reads the JSON escapes of a header's text. */
export function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text.replaceAll('"', '\\"').replaceAll('\\\\"', '\\"')}"`) as string;
  } catch {
    return text;
  }
}

/** request sends what an answer of the server proposes: its path is data, and begins below the server's own. */
export async function request(method: string, path: string, body: unknown, title = ""): Promise<unknown> {
  if (!path.startsWith("/api/v1/")) throw new Error(`the path ${path} is none of the API`);
  const response = await fetchWithSession(
    new Request(`${root}${path}`, {
      method,
      headers: { ...titleHeader(title), ...(body === null ? {} : { "Content-Type": "application/json" }) },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  const answer: unknown = response.headers.get("Content-Type")?.includes("json") ? JSON.parse(text) : text;
  if (!response.ok) throw problemOf(answer, response);
  return answer;
}
