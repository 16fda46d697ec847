import { useQuery } from "@tanstack/react-query";
import { inventory } from "../../api/inventory";
import { Row } from "../../ui/layout";
import { Chip, Faint } from "../../ui/text";
import { counted } from "../devices/filter";

const most = 4;

/** Versions is a quiet line: which versions of Syncthing run, and on how many devices. */
export function Versions() {
  const { data } = useQuery(inventory());
  const versions = counted(data?.devices ?? [], ({ version }) => (version ? [version] : []));
  if (versions.length === 0) return null;
  return (
    <Row>
      <Faint>Syncthing</Faint>
      {versions.slice(0, most).map(([version, n]) => (
        <Chip key={version} href={`/devices?version=${encodeURIComponent(version)}`}>{`${version} on ${n}`}</Chip>
      ))}
      {versions.length > most && <Faint>and {versions.length - most} other versions</Faint>}
    </Row>
  );
}
