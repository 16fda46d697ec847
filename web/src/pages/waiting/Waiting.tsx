import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { useLabels, useTemplateNames } from "../../api/labels";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { brief, plural } from "../../ui/format";
import { Grow, Panel, Rows, Split, Stack } from "../../ui/layout";
import { useNow } from "../../ui/now";
import { useKeptOrder } from "../../ui/order";
import { Loads, Nothing, Page } from "../../ui/page";
import { Ago, Faint, Muted, Strong, Text, To } from "../../ui/text";
import { placeOf, subjectOf } from "../audit/audit";
import { FirstSteps } from "../start/FirstSteps";
import { isCalm, quietly } from "./calm";
import { Group } from "./Group";
import { Numbers } from "./Numbers";
import { Troubles } from "./Troubles";
import { isTrouble } from "./troubles";
import { Versions } from "./Versions";

/** Waiting is the first page: what is wrong now, and what waits for a person, each cause once, with what solves it. */
export function Waiting() {
  const overview = useQuery(queries.overview());
  const waiting = useQuery(queries.waiting());
  const groups = (waiting.data?.groups ?? []).filter(({ cause }) => !isTrouble(cause));
  const troubles = overview.data?.trouble ?? [];
  const n = groups.length + troubles.length;
  if (overview.data?.templates === 0 && waiting.data && n === 0) return <FirstSteps devices={overview.data.devices} />;
  return (
    <Page
      title="What waits"
      updatedAt={waiting.dataUpdatedAt}
      sub={
        waiting.data &&
        n > 0 && (
          <span>
            {plural(n, "thing waits", "things wait")} for a person
            {waiting.data.devices > 0 && `, on ${plural(waiting.data.devices, "device")}`}
          </span>
        )
      }
    >
      <Loads query={overview} rows={2}>
        {(data) => <Numbers overview={data} />}
      </Loads>
      <Split>
        <Stack>
          <Troubles troubles={troubles} />
          <Loads query={waiting}>
            {() => {
              if (groups.length > 0) return <Groups groups={groups} />;
              return overview.data && isCalm(overview.data, n) && <Calm overview={overview.data} />;
            }}
          </Loads>
        </Stack>
        <Stack>
          <Recent />
          <Versions />
        </Stack>
      </Split>
    </Page>
  );
}

const allIsWell =
  "Devices and folders are as they should be, every change is applied or under way, and nothing asks for a person.";

function Calm({ overview }: { overview: Schemas["Overview"] }) {
  const quiet = quietly(overview);
  return (
    <Panel>
      <Nothing icon={IconCircleCheck} title="Nothing waits for you">
        {quiet.length === 0 ? allIsWell : quiet.join(" ")}
      </Nothing>
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

/** About leads to what an entry of the audit is about. */
function About({ entry, name, isDevice }: { entry: Schemas["AuditEntry"]; name: string; isDevice: boolean }) {
  const place = placeOf(entry, isDevice);
  return place ? <To href={place}>{name}</To> : <Muted>{name}</Muted>;
}

const hour = 3_600_000;

/** Recent is what changed in the last hour, and who did it. */
function Recent() {
  const may = useMay("operator");
  const labels = useLabels();
  const names = useTemplateNames();
  const now = useNow();
  const audit = useQuery({ ...queries.audit({ limit: 12 }), enabled: may, refetchInterval: 30_000 });
  if (!may) return null;
  return (
    <Panel title="Changed in the last hour" flush actions={<To href="/audit">Audit</To>}>
      <Loads query={audit}>
        {(entries) => {
          const since = now.getTime() - hour;
          const fresh = entries.filter((entry) => new Date(entry.at).getTime() > since);
          if (fresh.length === 0) return <Nothing title="A quiet hour">Nothing was changed since an hour ago.</Nothing>;
          return (
            <Rows dense>
              {fresh.map((entry) => (
                <li key={entry.id}>
                  <Grow>
                    <Text>
                      <Strong>{entry.who}</Strong> {entry.what.replace(".", " ")}{" "}
                      <About entry={entry} name={brief(subjectOf(entry, labels, names), 60)} isDevice={labels.has(entry.subject)} />
                    </Text>
                  </Grow>
                  <Faint>
                    <Ago at={entry.at} />
                  </Faint>
                </li>
              ))}
            </Rows>
          );
        }}
      </Loads>
    </Panel>
  );
}
