import { Autocomplete, Button, Modal, Progress } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, titled } from "../../api/client";
import { each, type Outcome } from "../../api/each";
import type { InventoryDevice } from "../../api/inventory";
import { queries } from "../../api/queries";
import { whatIf } from "../../api/whatif";
import { Act, done } from "../../ui/act";
import { plural, sentence, shortID } from "../../ui/format";
import { Grow, Row, Rows, Stack } from "../../ui/layout";
import { Ghosts, Wrong } from "../../ui/page";
import { stopping } from "../../ui/stopping";
import { Faint, Strong, Text } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { Effect, Named } from "../whatif/Effect";

type Mode = "on" | "observe" | "paused";

/** applyNow applies the plan that a device has at this moment, without any consent. */
export async function applyNow(deviceID: string, title = "") {
  const path = { deviceID };
  const plan = await ask(api.GET("/api/v1/devices/{deviceID}/plan", { params: { path } }));
  await ask(titled(title).POST("/api/v1/devices/{deviceID}/apply", { params: { path }, body: { digest: plan.digest } }));
}

async function setMode(deviceID: string, mode: Mode, title: string) {
  await ask(titled(title).PUT("/api/v1/devices/{deviceID}/settings", { params: { path: { deviceID } }, body: { mode } }));
}

/** Bulk does one thing to all chosen devices, and says for which it failed. */
export function Bulk({ devices, onDone }: { devices: InventoryDevice[]; onDone: () => void }) {
  const client = useQueryClient();
  const [progress, setProgress] = useState<number>();
  const [outcome, setOutcome] = useState<Outcome<InventoryDevice>>();
  const [tagging, setTagging] = useState<"add" | "remove">();
  const names = <Named devices={devices} />;

  const all = (says: string, act: (deviceID: string, title: string) => Promise<unknown>) => async (title: string) => {
    setProgress(0);
    const result = await each(devices, (device) => act(device.deviceID, title), setProgress);
    setProgress(undefined);
    void client.invalidateQueries();
    if (result.failed.length > 0) setOutcome(result);
    else done(`${says}: ${plural(result.done.length, "device")}`);
  };

  return (
    <div className="u-toolbar" data-selected>
      <Strong>{plural(devices.length, "device")} chosen</Strong>
      <Act needs="operator" run={() => Promise.resolve(setTagging("add"))}>
        Add tag
      </Act>
      <Act needs="operator" run={() => Promise.resolve(setTagging("remove"))}>
        Remove tag
      </Act>
      <Act
        needs="operator"
        run={all("Applied", applyNow)}
        confirm={{ title: "Apply the plans of these devices now?", verb: "Apply", body: names }}
      >
        Apply
      </Act>
      <Act
        needs="operator"
        run={all(stopping.observe.state, (id, title) => setMode(id, "observe", title))}
        confirm={{
          title: "Stop writing to these devices?",
          verb: stopping.observe.act,
          body: (
            <Stack>
              <Text>Muster goes on watching and planning. Only an administrator has it write again.</Text>
              {names}
            </Stack>
          ),
        }}
      >
        {stopping.observe.act}
      </Act>
      <Act
        needs="operator"
        run={all(stopping.paused.state, (id, title) => setMode(id, "paused", title))}
        confirm={{
          title: "Stop watching these devices?",
          verb: stopping.paused.act,
          body: (
            <Stack>
              <Text>Muster neither reads from these devices nor writes to them. The daemons go on syncing as they are.</Text>
              {names}
            </Stack>
          ),
        }}
      >
        {stopping.paused.act}
      </Act>
      <Act needs="admin" run={all("Muster writes again", (id, title) => setMode(id, "on", title))}>
        {stopping.observe.back}
      </Act>
      <Button variant="subtle" color="gray" onClick={onDone}>
        Clear
      </Button>
      {progress !== undefined && (
        <Grow>
          <Progress value={(progress / devices.length) * 100} aria-label="Progress" />
        </Grow>
      )}
      {tagging && (
        <Tagging
          devices={devices}
          removes={tagging === "remove"}
          onClose={() => setTagging(undefined)}
          run={(tag) =>
            tagging === "add"
              ? all(`Tagged ${tag}`, (deviceID, title) =>
                  ask(titled(title).PUT("/api/v1/devices/{deviceID}/tags/{tag}", { params: { path: { deviceID, tag } } })),
                )
              : all(`Tag ${tag} removed`, (deviceID, title) =>
                  ask(titled(title).DELETE("/api/v1/devices/{deviceID}/tags/{tag}", { params: { path: { deviceID, tag } } })),
                )
          }
        />
      )}
      <Modal
        opened={outcome !== undefined}
        onClose={() => setOutcome(undefined)}
        size="lg"
        title={`${plural(outcome?.failed.length ?? 0, "device")} failed, ${outcome?.done.length ?? 0} done`}
      >
        <Rows>
          {outcome?.failed.slice(0, 200).map(({ item, reason }) => (
            <li key={item.deviceID}>
              <Strong>{item.label || shortID(item.deviceID)}</Strong>
              <Text>{sentence(reason)}</Text>
            </li>
          ))}
        </Rows>
      </Modal>
    </div>
  );
}

const mostPlanned = 500; // devices of one question

function Tagging({
  devices,
  removes,
  run,
  onClose,
}: {
  devices: InventoryDevice[];
  removes: boolean;
  run: (tag: string) => (title: string) => Promise<void>;
  onClose: () => void;
}) {
  const [tag, setTag] = useState("");
  const [title, setTitle] = useState("");
  const [late] = useDebouncedValue(tag.trim(), 400);
  const tags = useQuery(queries.tags());
  const concerned = devices.filter((device) => device.tags.includes(tag.trim()) === removes);
  const asked = devices
    .filter((device) => device.tags.includes(late) === removes)
    .slice(0, mostPlanned)
    .map((device) => ({ tag: late, device: device.deviceID }));
  const effect = useQuery({
    ...whatIf({ tags: removes ? { removed: asked } : { added: asked } }),
    enabled: late !== "" && asked.length > 0,
  });
  const known = removes ? [...new Set(devices.flatMap((device) => device.tags))].sort() : (tags.data ?? []);
  return (
    <Modal opened onClose={onClose} size="lg" title={removes ? "Remove a tag" : "Add a tag"}>
      <Stack>
        <Autocomplete
          label={`Tag ${removes ? "to take off" : "to put on"} ${plural(devices.length, "device")}`}
          size="xs"
          data={known}
          value={tag}
          onChange={setTag}
          data-autofocus
          maxLength={128}
        />
        {late !== "" && asked.length === 0 && (
          <Faint>{removes ? "None of these devices has this tag." : "All of these devices have this tag already."}</Faint>
        )}
        {late !== "" && asked.length > 0 && (
          <>
            {effect.error && <Wrong error={effect.error} />}
            {effect.isFetching && <Ghosts rows={2} />}
            {effect.data && !effect.isFetching && <Effect plan={effect.data} />}
          </>
        )}
        <TitleField value={title} onChange={setTitle} />
        <Row end>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Act
            needs="operator"
            variant="filled"
            disabled={tag.trim() === "" || concerned.length === 0}
            why="Name a tag that would change something."
            run={async () => {
              onClose();
              await run(tag.trim())(title);
            }}
          >
            {removes ? "Remove" : "Add"}
          </Act>
        </Row>
      </Stack>
    </Modal>
  );
}
