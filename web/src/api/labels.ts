import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { inventory } from "./inventory";

/** useLabels gives the label of every device by ID. */
export function useLabels(): ReadonlyMap<string, string> {
  const { data } = useQuery(inventory());
  return useMemo(() => new Map((data?.devices ?? []).map((row) => [row.deviceID, row.label])), [data]);
}
