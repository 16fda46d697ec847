import { queryOptions } from "@tanstack/react-query";
import { api, ask, type Schemas } from "./client";

/** whatIf is what would become of the fleet with other templates and tags. Nothing of it is stored. */
export const whatIf = (body: Schemas["WhatIf"]) =>
  queryOptions({
    queryKey: ["what-if", body],
    queryFn: ({ signal }) => ask(api.POST("/api/v1/plan", { signal, body })),
    retry: false,
    staleTime: 5000,
    gcTime: 60_000,
  });
