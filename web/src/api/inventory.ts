import { queryOptions } from "@tanstack/react-query";
import { api, ask, type Schemas } from "./client";

export type Inventory = Schemas["Inventory"];
export type InventoryDevice = Schemas["InventoryDevice"];

/**
 * inventory is every device, in one answer: search, filters and sorting happen in the browser, so that typing never
 * waits for the server, and events keep the rows up to date.
 */
export const inventory = () =>
  queryOptions({
    queryKey: ["inventory"],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/inventory", { signal })),
    staleTime: 60_000,
  });
