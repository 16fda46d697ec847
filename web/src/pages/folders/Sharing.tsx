import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { api, type Schemas } from "../../api/client";
import { everyPage } from "../../api/everypage";
import { mostOneSided, queries, sharesAtOnce } from "../../api/queries";
import { Export } from "../../ui/export";
import { count, shortID } from "../../ui/format";
import { List, Panel, Row, Rows, Split, Stack } from "../../ui/layout";
import { Loads, Note, Nothing } from "../../ui/page";
import { Pager, usePlaces } from "../../ui/pager";
import { rangeText } from "../../ui/range";
import { Chip, Faint, Muted, Stacked, Strong, Text, To } from "../../ui/text";
import { folderTypes } from "./folders";
import { byFolder, devicesCompared, encryptedOn, folderKey, oneSided, oneSidedText, type OneSided as Found } from "./sharing";

type Share = Schemas["FolderShare"];
type Peer = Schemas["SharePeer"];

/** Sharing is how each device shares a folder: with whom, in what way, and what only one side says. */
export function Sharing({ folder, all }: { folder: string; all: number }) {
  const places = usePlaces(folder);
  const shares = useQuery(queries.folderShares(folder, places.after));
  const sided = useQuery(queries.oneSidedOfFolder(folder));
  return (
    <Panel
      title="Who shares it, and is connected with whom"
      flush
      actions={<Export name={`shares-of-${folder}`} rows={() => everyShare(folder)} says="All devices of the folder" />}
    >
      {sided.data && <OneSided all={sided.data.data} isPart={sided.data.after !== ""} />}
      <Loads query={shares}>
        {({ data, after }) => (
          <>
            <Split>
              <Table folder={folder} all={data} />
              <Origin folder={folder} all={data} />
            </Split>
            <Pager
              what="devices"
              range={rangeText(places.number * sharesAtOnce, data.length, all)}
              previous={places.number > 0 ? places.previous : undefined}
              next={after && !shares.isPlaceholderData ? () => places.next(after) : undefined}
            />
          </>
        )}
      </Loads>
    </Panel>
  );
}

const everyShare = (folderID: string) =>
  everyPage((after) =>
    api.GET("/api/v1/folders/{folderID}/shares", {
      params: { path: { folderID }, query: { limit: devicesCompared, ...(after ? { after } : {}) } },
    }),
  );

function nameOf({ deviceID, label }: { deviceID: string; label: string }): string {
  return label.slice(0, 100) || shortID(deviceID);
}

function OneSided({ all, isPart }: { all: Share[]; isPart: boolean }) {
  const found = oneSided(all);
  const said = oneSidedText(all, isPart);
  if (found.length === 0) return null;
  return (
    <Note>
      <Stack tight>
        <Strong>{said.text}</Strong>
        <OneSidedRows found={found} all={said.all} />
      </Stack>
    </Note>
  );
}

function OneSidedRows({ found, all }: { found: Found[]; all: number }) {
  const shown = found.slice(0, 50);
  return (
    <>
      <Rows dense>
        {shown.map(({ from, to }) => (
          <li key={`${from.deviceID} ${to.deviceID}`}>
            <To href={`/devices/${from.deviceID}`}>{nameOf(from)}</To>
            <Text>shares it with</Text>
            <To href={`/devices/${to.deviceID}`}>{nameOf(to)}</To>
            <Text>which does not share it back</Text>
          </li>
        ))}
      </Rows>
      {all > shown.length && <Faint>{`and ${count(all - shown.length)} more`}</Faint>}
    </>
  );
}

/** OneSidedFolders are the shares of all folders that only one side has. */
export function OneSidedFolders({ search }: { search: string }) {
  const [asked] = useDebouncedValue(search.trim(), 300);
  const shares = useQuery(queries.oneSidedShares(asked));
  return (
    <Panel
      title="Shares that only one side has"
      actions={<Export name="one-sided-shares" rows={() => shares.data ?? []} says="All that the search finds" />}
    >
      <Loads query={shares}>
        {(all) => (
          <Stack>
            {all.length === 0 && <Agreed asked={asked} />}
            {byFolder(all).map(({ folder, label, found }) => (
              <Stack key={folder} tight>
                <To href={`/folders/${encodeURIComponent(folder)}`}>{label.slice(0, 200) || folder.slice(0, 200)}</To>
                <OneSidedRows found={found} all={found.length} />
              </Stack>
            ))}
            {all.length === mostOneSided && (
              <Note>{`Only the first ${count(mostOneSided)} shares are shown. Search for a folder or a device to see others.`}</Note>
            )}
          </Stack>
        )}
      </Loads>
    </Panel>
  );
}

function Agreed({ asked }: { asked: string }) {
  return asked ? (
    <Nothing title="None matches">No folder or device that matches has a share that only one side has.</Nothing>
  ) : (
    <Nothing title="Both sides agree">Every share between managed devices is on both of them.</Nothing>
  );
}

function Table({ folder, all }: { folder: string; all: Share[] }) {
  const encrypted = encryptedOn(all);
  return (
    <List
      rows={all}
      id={(one) => one.deviceID}
      columns={[
        {
          title: "Device",
          cell: (one) => (
            <Stacked>
              <To href={`/devices/${one.deviceID}`}>{nameOf(one)}</To>
              <Faint>{one.path.slice(0, 200)}</Faint>
              <To href={`/devices/${one.deviceID}/templates?key=${encodeURIComponent(folderKey(folder))}`}>Why</To>
            </Stacked>
          ),
        },
        {
          title: "Type",
          cell: (one) =>
            one.known ? (
              <Row>
                <Muted>{folderTypes[one.type] ?? one.type}</Muted>
                {one.paused && <Chip>paused</Chip>}
                {encrypted.has(one.deviceID) && <Chip>encrypted</Chip>}
              </Row>
            ) : (
              <Muted>not read yet</Muted>
            ),
        },
        {
          title: "Connected with",
          cell: ({ peers, connectedCount }) => <Peers peers={peers.filter(isConnected)} all={connectedCount} />,
        },
        {
          title: "Shares it with, not connected",
          cell: ({ peers, peerCount, connectedCount }) => (
            <Peers peers={peers.filter((one) => !isConnected(one))} all={peerCount - connectedCount} />
          ),
        },
      ]}
    />
  );
}

const isConnected = ({ connected }: Peer) => connected === "yes";

function Peers({ peers, all }: { peers: Peer[]; all: number }) {
  if (peers.length === 0) return <Muted>no device</Muted>;
  return (
    <Row>
      {peers.map((peer) => {
        const marks = [
          ...(peer.encrypted ? ["encrypted"] : []),
          ...(peer.side === "onlyHere" ? ["does not share it back"] : []),
          ...(peer.side === "unmanaged" ? ["not managed here"] : []),
          ...(peer.connected === "unknown" ? ["not known"] : []),
        ];
        const text = [nameOf(peer), ...marks].join(", ");
        if (peer.side === "unmanaged") return <Chip key={peer.deviceID}>{text}</Chip>;
        return (
          <Chip key={peer.deviceID} href={`/devices/${peer.deviceID}`}>
            {text}
          </Chip>
        );
      })}
      {all > peers.length && <Faint>{`and ${count(all - peers.length)} more`}</Faint>}
    </Row>
  );
}

/** Origin is which templates make the folder, on the first device that is known to have it. */
function Origin({ folder, all }: { folder: string; all: Share[] }) {
  const example = all.find((one) => one.known);
  const why = useQuery({
    ...queries.why(example?.deviceID ?? "", folderKey(folder)),
    enabled: example !== undefined,
  });
  if (!example) return <Nothing title="Not known yet">No daemon with this folder was read.</Nothing>;
  return (
    <div className="u-panel-body">
      <Stack>
        <Strong>What makes it, on {nameOf(example)}</Strong>
        <Loads query={why} rows={1}>
          {({ steps }) =>
            steps.length === 0 ? (
              <Muted>No template: a person made it at the daemon.</Muted>
            ) : (
              <Rows dense>
                {steps.map((step, i) => (
                  <li key={i}>
                    <To href={`/templates/${step.template}`}>{step.label.slice(0, 100) || `Template ${step.template}`}</To>
                    <Faint>{step.savedBy && `by ${step.savedBy}`}</Faint>
                  </li>
                ))}
              </Rows>
            )
          }
        </Loads>
      </Stack>
    </div>
  );
}
