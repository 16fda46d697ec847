import { IconCircleCheck, IconCircleDashed, IconCircleMinus, IconEyeOff, IconHelpCircle, IconHistory, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import type { Schemas } from "../../api/client";
import { useLabelsOf } from "../../api/labels";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { brief, decoded, plural, sentence, shortID, size } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { Loads, Note, Nothing, Page } from "../../ui/page";
import { usePart } from "../../ui/pager";
import { State, type Badge } from "../../ui/state";
import { Ago, Faint, Muted, Prose, Stacked, Text, To } from "../../ui/text";
import { FileSearch } from "./FileSearch";
import { Holders } from "./Holders";

type OnDevice = Schemas["FileOnDevice"];

/** fileStates are how a file is on a device. */
const fileStates: Record<string, Badge> = {
  present: { word: "There", tone: "good", icon: IconCircleCheck },
  older: { word: "Another version", tone: "busy", icon: IconHistory },
  missing: { word: "Missing", tone: "wait", icon: IconCircleDashed },
  deleted: { word: "Deleted", tone: "quiet", icon: IconTrash },
  ignored: { word: "Ignored", tone: "quiet", icon: IconEyeOff },
  unheard: { word: "Never heard of", tone: "quiet", icon: IconCircleMinus },
  unknown: { word: "Unknown", tone: "quiet", icon: IconHelpCircle },
};

const means: Record<string, string> = {
  present: "It has the newest version that its daemon knows of.",
  older: "It has another version than the newest one.",
  missing: "Its daemon knows of the file, and does not have it yet.",
  deleted: "The newest version is that the file is gone.",
  ignored: "The device's ignore patterns leave it out.",
  unheard: "No device has told its daemon of such a file: look at the spelling, and where it should come from.",
};

/** File is one file of a folder on each device: whether it is there, and why not. The daemons are asked. */
export default function File({ id }: { id: string }) {
  const folder = decoded(id);
  const [params] = useSearchParams();
  const path = params.get("path") ?? "";
  const file = useQuery({ ...queries.file(folder, path), enabled: path !== "" });
  return (
    <Page
      title={path || "A file"}
      crumb={{ href: `/folders/${encodeURIComponent(folder)}`, text: brief(folder, 100) }}
      updatedAt={file.dataUpdatedAt}
      sub={file.data && <span>{inWords(file.data)}</span>}
    >
      <FileSearch key={path} folder={folder} path={path} />
      {path === "" ? (
        <Panel>
          <Nothing title="Which file?">Type its path within the folder, as in reports/2026.ods.</Nothing>
        </Panel>
      ) : (
        <Loads query={file}>{(all) => <Devices all={all} />}</Loads>
      )}
    </Page>
  );
}

function inWords(all: OnDevice[]): string {
  const there = all.filter(({ state }) => state === "present").length;
  const asked = all.filter(({ state }) => state !== "unknown").length;
  return `There on ${there} of ${plural(asked, "device")} that answered`;
}

function Devices({ all }: { all: OnDevice[] }) {
  const { part, pager } = usePart(all, "devices");
  const labels = useLabelsOf(part.flatMap(({ heldBy }) => heldBy));
  const versions = new Set(all.map(({ newest }) => newest).filter(Boolean));
  return (
    <>
      {versions.size > 1 && (
        <Note>The devices do not know of the same newest version: some of them have not heard of each other&#39;s changes.</Note>
      )}
      <Panel flush title="On each device" actions={<Export name="file" rows={() => all} says="All devices" />}>
        <List
          rows={part}
          id={({ deviceID }) => deviceID}
          columns={[
            {
              title: "Device",
              cell: ({ deviceID, label }) => <To href={`/devices/${deviceID}`}>{brief(label, 200) || shortID(deviceID)}</To>,
            },
            { title: "The file", cell: (one) => <Standing file={one} /> },
            { title: "Has", cell: (one) => <Has file={one} /> },
            { title: "Connected devices that have the newest", cell: ({ heldBy }) => <Holders ids={heldBy} labels={labels} none="none" /> },
          ]}
        />
        {pager}
      </Panel>
    </>
  );
}

function Standing({ file: { state, reason, failed } }: { file: OnDevice }) {
  return (
    <Stacked>
      <State badges={fileStates} state={state} />
      <Muted>
        <Prose>{brief(sentence(reason || (means[state] ?? "")), 400)}</Prose>
      </Muted>
      {failed && <Text>It could not be synced. The daemon says: {brief(failed, 400)}</Text>}
    </Stacked>
  );
}

function Has({ file: { version, size: bytes, modified, newest, newestSize } }: { file: OnDevice }) {
  return (
    <Stacked>
      {version ? (
        <span>
          {size(bytes)}, changed <Ago at={modified} />
        </span>
      ) : (
        <Muted>nothing</Muted>
      )}
      {newest && newest !== version && <Faint>The newest has {size(newestSize)}</Faint>}
    </Stacked>
  );
}
