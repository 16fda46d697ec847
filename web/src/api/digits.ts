import type { Answer } from "./client";

/** exact are functions that read and write numbers as they stand in JSON. Older browsers have none. */
const exact = JSON as typeof JSON & { rawJSON?: (text: string) => unknown };

/** Whole is a whole number that a browser does not keep exactly: it is kept as it is written. */
export class Whole {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toJSON(): unknown {
    return exact.rawJSON?.(this.digits);
  }
}

/** parsed reads JSON, and keeps every digit of whole numbers where the browser can. */
export function parsed(text: string): unknown {
  return JSON.parse(text, (_, value: unknown, context?: { source?: string }) => {
    if (!exact.rawJSON || typeof value !== "number" || Number.isSafeInteger(value) || !context?.source) return value;
    return /^-?\d+$/.test(context.source) ? new Whole(context.source) : value;
  }) as unknown;
}

/** withDigits is an answer that was read as text, with every digit of its numbers. */
export async function withDigits<T>(answer: Promise<Answer<string>>): Promise<Answer<T>> {
  const { data, ...rest } = await answer;
  return data === undefined ? rest : { ...rest, data: parsed(data) as T };
}
