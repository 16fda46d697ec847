import { IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useLabelsOf } from "../../api/labels";
import { queries } from "../../api/queries";
import { Asked } from "../../ui/asked";
import { elsewhereStates } from "../../ui/copystates";
import { Export } from "../../ui/export";
import { sentence, size } from "../../ui/format";
import { List, Row } from "../../ui/layout";
import { Nothing } from "../../ui/page";
import { usePart } from "../../ui/pager";
import { State } from "../../ui/state";
import { Ago, CellLink, Faint, Stacked } from "../../ui/text";
import { Holders } from "../folders/Holders";

type Folder = Schemas["FolderAtRisk"];

/** AtRisk shows what would be lost with a device. A person begins it: the daemons that share its folders are asked. */
export function AtRisk({ id }: { id: string }) {
  const [asked, setAsked] = useState(false);
  const risk = useQuery({ ...queries.deviceAtRisk(id), enabled: asked });
  return (
    <Asked
      title="If this device breaks now"
      before="Which of its data is proven to be on another device, and which may be here only?"
      asked={asked}
      onAsk={() => setAsked(true)}
      query={risk}
    >
      {({ folders }) => <Folders folders={folders} />}
    </Asked>
  );
}

function Folders({ folders }: { folders: Folder[] }) {
  const { part, pager } = usePart(folders, "folders");
  const labels = useLabelsOf(part.flatMap(({ heldBy }) => heldBy));
  if (folders.length === 0) {
    return (
      <Nothing icon={IconFolder} title="No folders">
        The device has none, or its configuration was not read yet.
      </Nothing>
    );
  }
  return (
    <>
      <Row end>
        <Export name="at-risk" rows={() => folders} says="All folders" />
      </Row>
      <List
        rows={part}
        id={({ folder }) => folder}
        columns={[
          {
            title: "Folder",
            cell: ({ folder }) => <CellLink href={`/folders/${encodeURIComponent(folder)}`}>{folder}</CellLink>,
          },
          { title: "Its data elsewhere", cell: (folder) => <Elsewhere of={folder} /> },
          { title: "Held by", cell: ({ heldBy }) => <Holders ids={heldBy} labels={labels} none="" /> },
          { title: "Size", right: true, cell: ({ bytes }) => size(bytes) },
        ]}
      />
      {pager}
    </>
  );
}

function Elsewhere({ of: { state, until, claimed, reason } }: { of: Folder }) {
  const lacking = (claimed ?? 0) > 0;
  return (
    <Stacked>
      <State badges={elsewhereStates} state={state} />
      {state === "behind" && until && (
        <Faint>
          Until <Ago at={until} />
        </Faint>
      )}
      {reason && <Faint>{sentence(reason)}</Faint>}
      {lacking && <Faint>{`Its daemon says that the best other device lacks ${size(claimed ?? 0)}`}</Faint>}
    </Stacked>
  );
}
