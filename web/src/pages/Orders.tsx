import { Checkbox } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "../api/client";
import { queries } from "../api/queries";
import { Act } from "../ui/act";
import { plural, sentence } from "../ui/format";
import { Panel, Row, Rows, Stack } from "../ui/layout";
import { Loads } from "../ui/page";
import { orders, State } from "../ui/state";
import { Ago, Faint, Text } from "../ui/text";

type Run = Schemas["ActionRun"];
type Action = Run["action"];

/** Target is who is told: one device, or those with a tag, one after the other. */
export type Target = { deviceID: string; tag?: undefined } | { tag: string; deviceID?: undefined };

const verbs: Record<Action, string> = {
  rescan: "Rescan",
  restart: "Restart",
  pause: "Pause connections",
  resume: "Resume connections",
  upgrade: "Upgrade",
};

const consequences: Partial<Record<Action, string>> = {
  restart: "The daemon ends its connections and is back seconds later. What is half transferred goes on then.",
  pause: "The daemon goes on running, and exchanges nothing with other devices until its connections are resumed.",
  upgrade: "The daemon installs the newest release of Syncthing by itself and starts again.",
};

const mostShown = 5; // orders

/** Orders has daemons do something, and shows what came of the last orders. */
export function Orders({ target }: { target: Target }) {
  const runs = useQuery(queries.actions());
  const mine = (runs.data ?? []).filter((run) =>
    target.tag === undefined ? run.devices.some((one) => one.deviceID === target.deviceID) : run.tag === target.tag,
  );
  return (
    <Panel title={target.tag === undefined ? "The daemon" : "Its daemons, one after the other"}>
      <Stack>
        <Row>
          {(Object.keys(verbs) as Action[]).map((action) => (
            <Order key={action} target={target} action={action} />
          ))}
        </Row>
        <Loads query={runs} rows={1}>
          {() => (
            <Rows dense>
              {mine.slice(0, mostShown).map((run) => (
                <li key={run.id}>
                  <Past run={run} />
                </li>
              ))}
            </Rows>
          )}
        </Loads>
      </Stack>
    </Panel>
  );
}

function Order({ target, action }: { target: Target; action: Action }) {
  const client = useQueryClient();
  const [major, setMajor] = useState(false);
  const verb = verbs[action];
  const consequence = consequences[action];
  return (
    <Act
      needs="operator"
      says={`${verb}: the order is given`}
      run={async () => {
        await send(target, action, major);
        void client.invalidateQueries({ queryKey: ["actions"] });
      }}
      {...(consequence
        ? {
            confirm: {
              title: target.tag === undefined ? `${verb}?` : `${verb} on every device tagged ${target.tag.slice(0, 60)}?`,
              verb,
              body: (
                <Stack>
                  <Text>{consequence}</Text>
                  {target.tag !== undefined && (
                    <Text>One device after the other; the order ends at the first that fails.</Text>
                  )}
                  {action === "upgrade" && (
                    <Checkbox
                      size="xs"
                      label="Also to another major version"
                      checked={major}
                      onChange={(event) => setMajor(event.currentTarget.checked)}
                    />
                  )}
                </Stack>
              ),
            },
          }
        : {})}
    >
      {verb}
    </Act>
  );
}

function send(target: Target, action: Action, major: boolean): Promise<Run> {
  const query = action === "upgrade" && major ? { major } : {};
  if (target.tag === undefined) {
    const params = { path: { deviceID: target.deviceID }, query };
    return ask(api.POST(`/api/v1/devices/{deviceID}/actions/${action}`, { params }));
  }
  return ask(api.POST(`/api/v1/tags/{tag}/actions/${action}`, { params: { path: { tag: target.tag }, query } }));
}

function Past({ run }: { run: Run }) {
  return (
    <Stack tight>
      <Row>
        <State badges={orders} state={run.status} />
        <Text>
          {verbs[run.action]}
          {run.folder && ` of ${run.folder.slice(0, 60)}`}
          {run.devices.length > 1 && `: ${run.done} of ${plural(run.devices.length, "device")}`}
        </Text>
      </Row>
      {run.reason && <Text>{sentence(run.reason)}</Text>}
      <Faint>
        {run.by} · <Ago at={run.endedAt ?? run.beganAt} />
      </Faint>
    </Stack>
  );
}
