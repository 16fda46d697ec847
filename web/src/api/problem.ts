import type { components } from "./schema";
import { pageFor } from "./see";

type Body = components["schemas"]["Problem"];

/** Problem is an error that the server explained, or that the network caused. */
export class Problem extends Error {
  readonly status: number;
  readonly hint: string;
  readonly traceback: string;
  readonly page: { says: string; href: string } | undefined; // the page that shows what the hint would name
  readonly errors: NonNullable<Body["errors"]>;
  readonly allowFailing: boolean; // The same request with allowFailing is not refused for this.

  constructor(body: Partial<Body> & { detail: string }) {
    // Only a program can cause an error about the form of a request: a person reads what to do about it.
    const isOfRequest = body.see?.subject === "request";
    super(isOfRequest ? body.see?.says : body.detail);
    this.name = "Problem";
    this.status = body.status ?? 0;
    this.page = body.see && !isOfRequest ? pageFor(body.see) : undefined;
    this.allowFailing = body.allowFailing ?? false;
    // The hint names a path of the API, or a flag of a command, which nobody sees here.
    this.hint = body.see || this.allowFailing ? "" : (body.hint ?? "");
    this.traceback = body.traceback ?? "";
    this.errors = isOfRequest ? [] : (body.errors ?? []);
  }
}

/**
 * placeOf returns the place of an error, to be shown before its message. A page shows one template, so an error about a
 * template has no field of the request.
 */
export function placeOf({ field, line, column }: { field?: string; line?: number; column?: number }): string {
  if (line) return `Line ${line}, column ${column ?? 1}: `;
  return field && !/^(body\.)?templates\.(new|changed)\.\d+/.test(field) ? `${field}: ` : "";
}

function isBody(value: unknown): value is Body {
  return typeof value === "object" && value !== null && "detail" in value && "status" in value;
}

/** problemOf reads the body of an answer that is no success. */
export function problemOf(body: unknown, response: Response): Problem {
  if (isBody(body)) return new Problem(body);
  return new Problem({
    status: response.status,
    detail: `the server answers ${response.status} ${response.statusText}`.trim(),
    hint: "A proxy in between may have answered. Try again.",
  });
}

/** asProblem gives any error as one that can be shown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem({
    detail: error instanceof Error ? error.message : String(error),
    hint: "Load the page again. If it comes back, the browser's console has more.",
  });
}
