import { useQuery } from "@tanstack/react-query";
import { queries } from "../../api/queries";
import { count } from "../../ui/format";
import { Row } from "../../ui/layout";
import { Chip, Faint } from "../../ui/text";

const most = 4;

/** Versions is a quiet line: which versions of Syncthing run, and on how many devices. */
export function Versions() {
  const { data } = useQuery(queries.overview());
  const versions = Object.entries(data?.versions ?? {}).sort(([a, n], [b, m]) => m - n || a.localeCompare(b));
  if (versions.length === 0) return null;
  return (
    <Row>
      <Faint>Syncthing</Faint>
      {versions.slice(0, most).map(([version, n]) => (
        <Chip key={version} href={`/devices?version=${encodeURIComponent(version)}`}>{`${version} on ${count(n)}`}</Chip>
      ))}
      {versions.length > most && <Faint>and {versions.length - most} other versions</Faint>}
      {data !== undefined && data.outdated > 0 && (
        <Chip
          href="/devices?outdated=true"
          title={data.newestVersion && `The newest release that devices run is ${data.newestVersion}`}
        >
          {`${count(data.outdated)} outdated`}
        </Chip>
      )}
    </Row>
  );
}
