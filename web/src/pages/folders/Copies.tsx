import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useLabels } from "../../api/labels";
import { queries } from "../../api/queries";
import { Asked } from "../../ui/asked";
import { copyStates } from "../../ui/copystates";
import { count, plural, sentence, shortID } from "../../ui/format";
import { List, Stack } from "../../ui/layout";
import { Note } from "../../ui/page";
import { State } from "../../ui/state";
import { Ago, CellLink, Faint, Muted, Stacked } from "../../ui/text";
import { Holders } from "./Holders";

type Copies = Schemas["FolderCopies"];

/** CopiesOf shows on which devices all data of a folder is proven to be. A person begins it: each daemon is asked. */
export function CopiesOf({ folder }: { folder: string }) {
  const [asked, setAsked] = useState(false);
  const copies = useQuery({ ...queries.folderCopies(folder), enabled: asked });
  return (
    <Asked
      title="Proven copies"
      before="Up to date is what each daemon says of what it has heard. Two readings of all daemons prove which of them hold everything."
      asked={asked}
      onAsk={() => setAsked(true)}
      query={copies}
    >
      {(data) => <Proven copies={data} />}
    </Asked>
  );
}

function Proven({ copies }: { copies: Copies }) {
  const plain = copies.devices.filter(({ encrypted }) => !encrypted); // encrypted copies are not counted
  return (
    <Stack>
      {copies.islands.length > 0 && <Islands copies={copies} />}
      <List
        rows={copies.devices}
        id={({ deviceID }) => deviceID}
        columns={[
          {
            title: "Device",
            cell: ({ deviceID, label }) => <CellLink href={`/devices/${deviceID}`}>{label || shortID(deviceID)}</CellLink>,
          },
          {
            title: `${count(copies.copies)} of ${plural(plain.length, "copy", "copies")} proven`,
            cell: (copy) => <Copy copy={copy} />,
          },
          { title: "Proven until", cell: ({ until }) => (until ? <Ago at={until} /> : <Muted>never</Muted>) },
          { title: "Lacks data of", cell: ({ lacks }) => <Holders ids={lacks} none="" /> },
        ]}
      />
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

/** Islands says that no connection between groups of the devices is known, and which would join them. */
function Islands({ copies: { islands, cuts } }: { copies: Copies }) {
  const labels = useLabels();
  const name = (id: string) => labels.get(id) || shortID(id);
  return (
    <Note>
      {`Muster knows of no connection between ${count(islands.length)} groups of these devices.`}
      {cuts.length > 0 && ` Not connected: ${cuts.map(({ between, and }) => `${name(between)} and ${name(and)}`).join(", ")}.`}
    </Note>
  );
}
