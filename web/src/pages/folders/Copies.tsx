import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useLabelsOf } from "../../api/labels";
import { queries } from "../../api/queries";
import { Asked } from "../../ui/asked";
import { copyStates } from "../../ui/copystates";
import { Export } from "../../ui/export";
import { count, sentence, shortID } from "../../ui/format";
import { List, Row, Stack } from "../../ui/layout";
import { Note } from "../../ui/page";
import { usePart } from "../../ui/pager";
import { State } from "../../ui/state";
import { Ago, CellLink, Faint, Muted, Stacked } from "../../ui/text";
import { Holders, mostHolders } from "./Holders";

type Copies = Schemas["FolderCopies"];

/** CopiesOf shows on which devices all data of a folder is proven to be. A person begins it: each daemon is asked. */
export function CopiesOf({ folder }: { folder: string }) {
  const [asked, setAsked] = useState(false);
  const copies = useQuery({ ...queries.folderCopies(folder), enabled: asked });
  return (
    <Asked
      title={`Proven copies${copies.data ? countOf(copies.data) : ""}`}
      before="Up to date is what each daemon says of what it has heard. Two readings of all daemons prove which of them hold everything."
      asked={asked}
      onAsk={() => setAsked(true)}
      query={copies}
    >
      {(data) => <Proven folder={folder} copies={data} />}
    </Asked>
  );
}

/** countOf says how many copies are proven. Encrypted copies are not counted. */
function countOf({ copies, devices }: Copies): string {
  return `: ${count(copies)} of ${count(devices.filter(({ encrypted }) => !encrypted).length)}`;
}

function Proven({ folder, copies }: { folder: string; copies: Copies }) {
  const { part, pager } = usePart(copies.devices, "devices");
  const labels = useLabelsOf(part.flatMap(({ lacks }) => lacks.slice(0, mostHolders)));
  return (
    <Stack>
      <Row end>
        <Export name={`copies-of-${folder}`} rows={() => copies.devices} says="All devices" />
      </Row>
      {copies.islands.length > 0 && <Islands copies={copies} />}
      <List
        rows={part}
        id={({ deviceID }) => deviceID}
        columns={[
          {
            title: "Device",
            cell: ({ deviceID, label }) => <CellLink href={`/devices/${deviceID}`}>{label || shortID(deviceID)}</CellLink>,
          },
          { title: "Copy", cell: (copy) => <Copy copy={copy} /> },
          { title: "Proven until", cell: ({ until }) => (until ? <Ago at={until} /> : <Muted>never</Muted>) },
          { title: "Lacks data of", cell: ({ lacks }) => <Holders ids={lacks} labels={labels} none="" /> },
        ]}
      />
      {pager}
    </Stack>
  );
}

function Copy({ copy: { state, encrypted, reason } }: { copy: Schemas["FolderCopy"] }) {
  return (
    <Stacked>
      <State badges={copyStates} state={state} />
      {encrypted && <Faint>Encrypted</Faint>}
      {reason && <Faint>{sentence(reason)}</Faint>}
    </Stacked>
  );
}

const mostNamed = 5; // devices of a group
const mostIslands = 20; // groups, and missing connections

function named(devices: string[], name: (id: string) => string): string {
  const more = devices.length - mostNamed;
  return devices.slice(0, mostNamed).map(name).join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}

/** Islands says that no connection between groups of the devices is known, and which would join them. */
function Islands({ copies: { islands, cuts } }: { copies: Copies }) {
  const shown = islands.slice(0, mostIslands);
  const missing = cuts.slice(0, mostIslands);
  const labels = useLabelsOf([
    ...shown.flatMap(({ devices }) => devices.slice(0, mostNamed)),
    ...missing.flatMap(({ between, and }) => [between, and]),
  ]);
  const name = (id: string) => labels.get(id) || shortID(id);
  const further = (more: number) => (more > 0 ? ` and ${count(more)} more` : "");
  return (
    <Note>
      {`Muster knows of no connection between ${count(islands.length)} groups of these devices: `}
      {`${shown.map(({ devices }) => named(devices, name)).join("; ")}${further(islands.length - shown.length)}.`}
      {cuts.length > 0 &&
        ` Not connected: ${missing.map(({ between, and }) => `${name(between)} and ${name(and)}`).join(", ")}` +
          `${further(cuts.length - missing.length)}.`}
    </Note>
  );
}
