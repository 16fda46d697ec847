import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import { Act } from "../../ui/act";
import { Columns, Panel, Row, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { modes, State } from "../../ui/state";
import { stopping } from "../../ui/stopping";
import { Muted, Text } from "../../ui/text";
import { WaysOfStopping } from "../../ui/WaysOfStopping";
import { modeQuestions, useSetMode, type FleetMode } from "./fleetmode";
import { FolderRoots } from "./FolderRoots";

/** Writing is whether Muster writes at all, and where templates of authors may put folders. */
export function Writing() {
  return (
    <Columns wide>
      <ModeOfFleet />
      <Roots />
    </Columns>
  );
}

function ModeOfFleet() {
  const mode = useQuery(queries.configurator());
  const setMode = useSetMode();
  const put = (to: FleetMode) => (title: string) => setMode(to, mode.data?.mode, title);
  const asks = (to: FleetMode) => {
    const { says, ...question } = modeQuestions[to];
    return { ...question, body: <Text>{says}</Text> };
  };
  return (
    <Panel title="The whole fleet" actions={mode.data && <State badges={modes} state={mode.data.mode} filled />}>
      <Loads query={mode} rows={2}>
        {(data) => (
          <Stack>
            <Text>
              Daemons go on syncing whatever is set here. Tags and devices have modes of their own: the strictest holds.
            </Text>
            {data.warning && <Muted>{data.warning}</Muted>}
            <Row>
              {data.mode !== "on" && (
                <Act needs="admin" variant="filled" run={put("on")}>
                  {stopping.observe.back}
                </Act>
              )}
              {data.mode !== "observe" && (
                <Act needs={data.mode === "on" ? "operator" : "admin"} run={put("observe")} confirm={asks("observe")}>
                  {stopping.observe.act}
                </Act>
              )}
              {data.mode !== "paused" && (
                <Act needs="operator" run={put("paused")} confirm={asks("paused")}>
                  {stopping.paused.act}
                </Act>
              )}
            </Row>
            <WaysOfStopping />
          </Stack>
        )}
      </Loads>
    </Panel>
  );
}

function Roots() {
  const client = useQueryClient();
  const roots = useQuery(queries.folderRoots());
  return (
    <Panel title="Folder roots">
      <Loads query={roots} rows={2}>
        {(data) => (
          <FolderRoots
            roots={data.folderRoots}
            keep="folder-roots"
            about="Templates of authors put folders below these without consent. ~ is the home of the daemon’s user"
            store={async (folderRoots, title) => {
              await ask(titled(title).PUT("/api/v1/folder-roots", { body: { folderRoots } }));
              void client.invalidateQueries();
            }}
          />
        )}
      </Loads>
    </Panel>
  );
}
