import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { brief, learnNames } from "../ui/format";
import { inventory, type Inventory } from "./inventory";
import { mostNamed, queries } from "./queries";

/** useLabels gives the label of every device by ID, short enough for the middle of a text. */
export function useLabels(): ReadonlyMap<string, string> {
  const { data } = useQuery(inventory());
  return useMemo(() => {
    learnNames((data?.devices ?? []).flatMap(({ label, tags }) => [label, ...tags]));
    return new Map((data?.devices ?? []).map((row) => [row.deviceID, brief(row.label, 60)]));
  }, [data]);
}

/**
 * useLabelsOf gives the labels of some devices by ID, as short. A page that shows a few devices reads no more than these,
 * unless the table of all devices was read before.
 */
export function useLabelsOf(ids: string[]): ReadonlyMap<string, string> {
  const all = useQueryClient().getQueryData<Inventory>(inventory().queryKey)?.devices;
  const wanted = all ? [] : [...new Set(ids)].sort();
  const parts = Array.from({ length: Math.ceil(wanted.length / mostNamed) }, (_, i) =>
    wanted.slice(i * mostNamed, (i + 1) * mostNamed),
  );
  const asked = useQueries({ queries: parts.map((part) => queries.someDevices(part)) });
  const rows = all ?? asked.flatMap(({ data }) => data?.devices ?? []);
  return new Map(rows.map((row) => [row.deviceID, brief(row.label, 60)]));
}

/** useHasLabel tells whether a device, other than the one with the ID, has exactly this label already. */
export function useHasLabel(): (label: string, except?: string) => boolean {
  const { data } = useQuery(inventory());
  return useMemo(() => {
    const owners = new Map((data?.devices ?? []).map((row) => [row.label, row.deviceID]));
    return (label, except) => label !== "" && owners.has(label) && owners.get(label) !== except;
  }, [data]);
}

/** useTemplateNames gives the label of every template by ID, as short. */
export function useTemplateNames(): ReadonlyMap<number, string> {
  const { data } = useQuery(queries.templates());
  return useMemo(() => {
    learnNames((data ?? []).map(({ label }) => label));
    return new Map((data ?? []).map((one) => [one.id, brief(one.label, 60)]));
  }, [data]);
}
