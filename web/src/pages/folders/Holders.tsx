import { count, shortID } from "../../ui/format";
import { Row } from "../../ui/layout";
import { Chip, Faint, Muted } from "../../ui/text";

/** mostHolders is how many holders one cell names. */
export const mostHolders = 10; // as many as the server names of those that have what a device lacks

/** Holders are links to devices, which the server found to have a file or what another device lacks. */
export function Holders({ ids, labels, none }: { ids: string[]; labels: ReadonlyMap<string, string>; none: string }) {
  if (ids.length === 0) return <Muted>{none}</Muted>;
  return (
    <Row>
      {ids.slice(0, mostHolders).map((id) => (
        <Chip key={id} href={`/devices/${id}`}>
          {labels.get(id) || shortID(id)}
        </Chip>
      ))}
      {ids.length > mostHolders && <Faint>{`and ${count(ids.length - mostHolders)} more`}</Faint>}
    </Row>
  );
}
