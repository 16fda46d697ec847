import { useInfiniteQuery } from "@tanstack/react-query";
import { api, type Schemas } from "../../api/client";
import { everyPage, mostAtOnce } from "../../api/everypage";
import { queries, type LogQuery } from "../../api/queries";
import { Export } from "../../ui/export";
import { brief, sentence, shortID } from "../../ui/format";
import { List, Panel } from "../../ui/layout";
import { Loads, More, Nothing } from "../../ui/page";
import { events, State } from "../../ui/state";
import { Ago, Faint, Muted, Prose, Stacked, Text, To } from "../../ui/text";

type Entry = Schemas["LogEntry"];

/** Kept are the events that the server keeps, the newest first; on the page of a device or folder those about it. */
export function Kept({ about }: { about: LogQuery }) {
  const log = useInfiniteQuery(queries.eventLog(about));
  const isOfDevice = about.device !== undefined;
  const isOfFolder = about.folder !== undefined;
  return (
    <Panel title="What happened" flush actions={<Export name="events" rows={() => everyEvent(about)} />}>
      <Loads query={log}>
        {(entries) =>
          entries.length === 0 ? (
            <Nothing title="Nothing is kept">No change of state, configuration or folder, and no order, was seen.</Nothing>
          ) : (
            <>
              <List
                rows={entries}
                id={({ number }) => number}
                columns={[
                  { title: "When", cell: ({ time }) => <Ago at={time} /> },
                  { title: "What", cell: (entry) => <What entry={entry} /> },
                  ...(isOfDevice ? [] : [{ title: "Device", cell: (entry: Entry) => <Who entry={entry} /> }]),
                  ...(isOfFolder ? [] : [{ title: "Folder", cell: (entry: Entry) => <Where entry={entry} /> }]),
                ]}
              />
              <More query={log}>Show older events</More>
            </>
          )
        }
      </Loads>
    </Panel>
  );
}

/** everyEvent reads all kept events that are about the same. */
function everyEvent({ device, ...rest }: LogQuery) {
  return everyPage((after) =>
    api.GET("/api/v1/events/log", {
      params: {
        query: { ...rest, limit: mostAtOnce, ...(device ? { device: [device] } : {}), ...(after ? { after } : {}) },
      },
    }),
  );
}

function What({ entry: { kind, text } }: { entry: Entry }) {
  return (
    <Stacked>
      <Text>
        <Prose>{brief(sentence(text), 400)}</Prose>
      </Text>
      <State badges={events} state={kind} />
    </Stacked>
  );
}

function Who({ entry: { deviceID, label } }: { entry: Entry }) {
  if (deviceID === "") return <Muted>none</Muted>;
  return <To href={`/devices/${deviceID}`}>{brief(label, 100) || shortID(deviceID)}</To>;
}

function Where({ entry: { folder } }: { entry: Entry }) {
  if (folder === "") return <Faint>-</Faint>;
  return <To href={`/folders/${encodeURIComponent(folder)}`}>{brief(folder, 100)}</To>;
}
