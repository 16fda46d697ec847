import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { brief } from "../ui/format";
import { inventory } from "./inventory";
import { queries } from "./queries";

/** useLabels gives the label of every device by ID, short enough for the middle of a text. */
export function useLabels(): ReadonlyMap<string, string> {
  const { data } = useQuery(inventory());
  return useMemo(() => new Map((data?.devices ?? []).map((row) => [row.deviceID, brief(row.label, 60)])), [data]);
}

/** useHasLabel tells whether a device has exactly this label already. */
export function useHasLabel(): (label: string) => boolean {
  const { data } = useQuery(inventory());
  return useMemo(() => {
    const labels = new Set((data?.devices ?? []).map((row) => row.label));
    return (label) => label !== "" && labels.has(label);
  }, [data]);
}

/** useTemplateNames gives the label of every template by ID, as short. */
export function useTemplateNames(): ReadonlyMap<number, string> {
  const { data } = useQuery(queries.templates());
  return useMemo(() => new Map((data ?? []).map((one) => [one.id, brief(one.label, 60)])), [data]);
}
