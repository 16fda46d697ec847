import { useQuery } from "@tanstack/react-query";
import { queries } from "../api/queries";
import { includes, type Role } from "./roles";

/** useMe is who is logged in. Pages show only once that is known. */
export function useMe() {
  const { data } = useQuery(queries.whoami());
  const role: Role = data?.role ?? "viewer";
  return { name: data?.name ?? "", role, credential: data?.credential };
}

export function useMay(needs: Role): boolean {
  return includes(useMe().role, needs);
}
