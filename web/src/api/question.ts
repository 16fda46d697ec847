import { infiniteQueryOptions, keepPreviousData, queryOptions, type UseQueryOptions } from "@tanstack/react-query";
import { ask, send, type Answer } from "./client";

type Key = readonly unknown[];
type Options<T> = Omit<UseQueryOptions<T>, "queryKey" | "queryFn">;

/** question is one thing that pages ask the server. */
export function question<T>(
  queryKey: Key,
  sent: (signal: AbortSignal) => Promise<Answer<T>>,
  options: Options<T> = {},
) {
  return queryOptions<T>({ ...options, queryKey, queryFn: ({ signal }) => ask(sent(signal)) });
}

/** pages are a list that comes in parts, each of which tells where the next one begins. */
export function pages<T>(
  queryKey: Key,
  sent: (signal: AbortSignal, after: string) => Promise<Answer<T[]>>,
  options: { refetchInterval?: number } = {},
) {
  return infiniteQueryOptions({
    ...options,
    queryKey,
    placeholderData: keepPreviousData,
    queryFn: ({ signal, pageParam }) => send(sent(signal, pageParam)),
    initialPageParam: "",
    getNextPageParam: ({ after }) => after || undefined,
    select: ({ pages: parts }) => parts.flatMap(({ data }) => data),
  });
}

/** at is a request without a body: what is in its path. */
export function at<P>(signal: AbortSignal, path: P) {
  return { signal, params: { path } };
}
