import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Export } from "../../ui/export";
import { plural } from "../../ui/format";
import { Panel, Split, Stack } from "../../ui/layout";
import { useKeptOrder } from "../../ui/order";
import { Loads, Page } from "../../ui/page";
import { Muted } from "../../ui/text";
import { FirstSteps } from "../start/FirstSteps";
import { isCalm, quietly } from "./calm";
import { Group } from "./Group";
import { Numbers } from "./Numbers";
import { Recent } from "./Recent";
import { States } from "./States";
import { Troubles } from "./Troubles";
import { isTrouble } from "./troubles";
import { Versions } from "./Versions";
import { thingsIn } from "./waiting";
import { everyWaiting } from "./whole";

/** Waiting is the first page: what is wrong now, and what waits for a person, each cause once, with what solves it. */
export function Waiting() {
  const overview = useQuery(queries.overview());
  const waiting = useQuery(queries.waiting());
  const groups = (waiting.data?.groups ?? []).filter(({ cause }) => !isTrouble(cause));
  const troubles = overview.data?.trouble ?? [];
  const n = groups.length + troubles.length; // of kinds
  const things = thingsIn(groups, troubles);
  const mayAudit = useMay("operator");
  const now = (
    <Stack>
      <Troubles troubles={troubles} />
      <Loads query={waiting}>
        {() => {
          if (groups.length > 0) return <Groups groups={groups} />;
          return overview.data && isCalm(overview.data, n) && <Calm overview={overview.data} />;
        }}
      </Loads>
      {overview.data && <States overview={overview.data} />}
    </Stack>
  );
  if (overview.data?.templates === 0 && waiting.data && n === 0) return <FirstSteps devices={overview.data.devices} />;
  return (
    <Page
      title="What waits"
      updatedAt={waiting.dataUpdatedAt}
      actions={
        <Export name="waiting" rows={() => everyWaiting(waiting.data?.groups ?? [])} says="One row for each cause and device" />
      }
      sub={
        waiting.data &&
        n > 0 && (
          <span>
            {plural(things, "thing waits", "things wait")} for a person
            {n < things && `, for ${plural(n, "reason")}`}
            {waiting.data.devices > 0 && `, on ${plural(waiting.data.devices, "device")}`}
          </span>
        )
      }
    >
      <Loads query={overview} rows={2}>
        {(data) => <Numbers overview={data} />}
      </Loads>
      {mayAudit ? (
        <Split>
          {now}
          <Stack>
            <Recent />
            <Versions />
          </Stack>
        </Split>
      ) : (
        <>
          {now}
          <Versions />
        </>
      )}
    </Page>
  );
}

const allIsWell =
  "Devices and folders are as they should be, every change is applied or under way, and nothing asks for a person.";

function Calm({ overview }: { overview: Schemas["Overview"] }) {
  const quiet = quietly(overview);
  return (
    <Panel>
      <div className="u-calm">
        <IconCircleCheck size={20} stroke={1.75} aria-hidden />
        <Stack tight>
          <h2 className="u-panel-title">Nothing waits for you</h2>
          <Muted>{quiet.length === 0 ? allIsWell : quiet.join(" ")}</Muted>
        </Stack>
      </div>
    </Panel>
  );
}

/** Groups keep their order while the pointer is over them, so that no button moves away below it. */
function Groups({ groups }: { groups: Schemas["WaitingGroup"][] }) {
  const [isOver, setIsOver] = useState(false);
  const shown = useKeptOrder(groups, (group) => group.id, isOver);
  return (
    <div onPointerEnter={() => setIsOver(true)} onPointerLeave={() => setIsOver(false)}>
      <Stack>
        {shown.map((group) => (
          <Group key={group.id} group={group} />
        ))}
      </Stack>
    </div>
  );
}
