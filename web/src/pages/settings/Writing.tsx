import { Button, Textarea } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act, done, doneWithUndo, warn } from "../../ui/act";
import { KeptNote } from "../../ui/keptnote";
import { Columns, Panel, Row, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { modes, State } from "../../ui/state";
import { stopping } from "../../ui/stopping";
import { Faint, Muted, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { WaysOfStopping } from "../../ui/WaysOfStopping";
import { useKeeps, useKeptBefore } from "../../ui/usekept";

type Mode = "on" | "observe" | "paused";

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
  const client = useQueryClient();
  const mode = useQuery(queries.configurator());
  const isAdmin = useMay("admin");
  const store = async (to: Mode, title: string) => {
    const now = await ask(titled(title).PUT("/api/v1/configurator", { body: { mode: to } }));
    void client.invalidateQueries();
    return now;
  };
  const put = (to: Mode) => async (title: string) => {
    const former = mode.data?.mode ?? "observe";
    const now = await store(to, title);
    const says = to === "on" ? "Muster writes again" : stopping[to].stops;
    if (now.warning) warn(now.warning);
    else if (isAdmin) doneWithUndo(says, () => store(former, ""));
    else done(says); // Only an administrator has it write again.
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
                <Act
                  needs={data.mode === "on" ? "operator" : "admin"}
                  run={put("observe")}
                  confirm={{
                    title: "Stop writing to every device?",
                    verb: stopping.observe.act,
                    body: <Text>Muster goes on watching and planning. Only an administrator has it write again.</Text>,
                  }}
                >
                  {stopping.observe.act}
                </Act>
              )}
              {data.mode !== "paused" && (
                <Act
                  needs="operator"
                  run={put("paused")}
                  confirm={{
                    title: "Stop watching every device?",
                    verb: stopping.paused.act,
                    body: (
                      <Text>
                        No device is watched or written to: what is shown here becomes old. Only an administrator has
                        it watch again.
                      </Text>
                    ),
                  }}
                >
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

const trimmed = (text: string) => text.trim();

function Roots() {
  const roots = useQuery(queries.folderRoots());
  return (
    <Panel title="Folder roots">
      <Loads query={roots} rows={2}>
        {(data) => <EditRoots key={data.folderRoots.join("\n")} roots={data.folderRoots} />}
      </Loads>
    </Panel>
  );
}

function EditRoots({ roots }: { roots: string[] }) {
  const client = useQueryClient();
  const isAdmin = useMay("admin");
  const stored = roots.join("\n");
  const kept = useKeptBefore("folder-roots", stored, trimmed);
  const [text, setText] = useState(kept?.draft ?? stored);
  const [restoredAt, setRestoredAt] = useState(kept && (kept.at ?? 0));
  const [title, setTitle] = useState("");
  const changed = text.trim() !== stored;
  const { forget } = useKeeps("folder-roots", changed, stored, text);
  const discard = () => {
    setText(stored);
    setRestoredAt(undefined);
  };
  return (
    <Stack>
      {restoredAt !== undefined && changed && (
        <KeptNote at={restoredAt} onContinue={() => setRestoredAt(undefined)} onDiscard={discard} />
      )}
      <Textarea
        size="xs"
        label="One directory on each line"
        description="Templates of authors put folders below these without consent. ~ is the home of the daemon’s user"
        autosize
        minRows={2}
        readOnly={!isAdmin}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {changed && isAdmin && <TitleField value={title} onChange={setTitle} />}
      <Row>
        <Act
          needs="admin"
          disabled={!changed}
          why="Nothing was changed."
          run={async () => {
            const folderRoots = text.split("\n").map((line) => line.trim()).filter(Boolean);
            const put = async (to: string[], why: string) => {
              await ask(titled(why).PUT("/api/v1/folder-roots", { body: { folderRoots: to } }));
              void client.invalidateQueries();
            };
            await put(folderRoots, title);
            forget();
            doneWithUndo("Stored", () => put(roots, ""));
          }}
        >
          Store
        </Act>
        {changed && (
          <Button variant="subtle" color="gray" onClick={discard}>
            Discard
          </Button>
        )}
        {!isAdmin && <Faint>Only an administrator changes these.</Faint>}
      </Row>
    </Stack>
  );
}
