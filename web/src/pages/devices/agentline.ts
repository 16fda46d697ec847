import { useQuery } from "@tanstack/react-query";
import { root } from "../../api/client";
import { queries } from "../../api/queries";

/** useFingerprint is that of this server's certificate; blank with plain HTTP. */
export function useFingerprint(): string {
  const overview = useQuery(queries.overview());
  return overview.data?.certificate?.fingerprint ?? "";
}

/** agentCommand is the line that starts an agent which asks this server to accept its device. */
export function agentCommand(fingerprint: string, key = ""): string {
  return [
    `muster agent --server ${root}`,
    ...(fingerprint ? [`--fingerprint ${fingerprint}`] : []),
    ...(key ? [`--key ${key}`] : []),
  ].join(" ");
}
