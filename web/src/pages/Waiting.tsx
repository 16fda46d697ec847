import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, type Schemas } from "../api/client";
import { each } from "../api/each";
import { inventory } from "../api/inventory";
import { useLabels } from "../api/labels";
import { queries } from "../api/queries";
import { useMay } from "../session/me";
import { Act, done, failed } from "../ui/act";
import { Change } from "../ui/change";
import { plural, sentence, shortID } from "../ui/format";
import { Grow, Panel, Row, Rows, Split, Stack } from "../ui/layout";
import { useNow } from "../ui/now";
import { Loads, Nothing, Page } from "../ui/page";
import { configurations, connections, modes, rollouts, State } from "../ui/state";
import { Ago, Faint, Muted, Strong, Text, To } from "../ui/text";
import { applyNow } from "./Bulk";
import { Named } from "./Effect";
import { FirstSteps } from "./FirstSteps";
import { Inbox } from "./Inbox";
import { Numbers } from "./Numbers";
import { causesOf, type Cause } from "./waiting";

/** Waiting is the first page: what waits for a person, each cause once, with what solves it. */
export function Waiting() {
  const overview = useQuery(queries.overview());
  const consents = useQuery(queries.consents());
  const pending = useQuery(queries.pending());
  const fleet = useQuery(inventory());
  const causes = causesOf(fleet.data?.devices ?? []);
  const stuck = (overview.data?.rollouts ?? []).filter((one) => one.status !== "running");
  const troubles = (overview.data?.impairments.length ?? 0) + backupTrouble(overview.data).length;
  const stops = overview.data?.stopCount ?? 0;
  const asks = pending.data?.length ?? 0;
  const n = (consents.data?.length ?? 0) + causes.length + stuck.length + troubles + stops + asks;
  const isKnown = overview.data && consents.data && pending.data && fleet.data;

  if (overview.data?.devices === 0 && overview.data.templates === 0) return <FirstSteps />;
  return (
    <Page
      title="What waits"
      updatedAt={Math.min(overview.dataUpdatedAt, fleet.dataUpdatedAt)}
      sub={isKnown && n > 0 ? <span>{plural(n, "thing waits", "things wait")} for a person</span> : undefined}
    >
      <Split>
        <Stack>
          <Loads query={overview} rows={2}>
            {(data) => <Troubles overview={data} />}
          </Loads>
          {stuck.map((rollout) => (
            <StuckRollout key={rollout.id} rollout={rollout} />
          ))}
          <Loads query={consents} rows={2}>
            {(groups) => groups.map((group) => <Held key={`${group.digest}-${group.rollout}`} group={group} />)}
          </Loads>
          <Loads query={fleet} rows={2}>
            {() => causes.map((cause, i) => <DeviceCause key={i} cause={cause} />)}
          </Loads>
          <Loads query={pending} rows={1}>
            {(all) => (all.length > 0 ? <Inbox asks={all} /> : null)}
          </Loads>
          {isKnown && n === 0 && (
            <Panel>
              <Nothing icon={IconCircleCheck} title="Nothing waits for you">
                Every change is applied or under way, and no device asks for a person.
              </Nothing>
            </Panel>
          )}
        </Stack>
        <Stack>
          <Loads query={overview} rows={3}>
            {(data) => <Numbers overview={data} />}
          </Loads>
          <Recent />
        </Stack>
      </Split>
    </Page>
  );
}

function backupTrouble(overview: Schemas["Overview"] | undefined): string[] {
  return overview?.backup?.trouble ? [overview.backup.trouble] : [];
}

/** Troubles are of the server itself: the database, the disk, the backup, stops in force. */
function Troubles({ overview }: { overview: Schemas["Overview"] }) {
  const client = useQueryClient();
  return (
    <>
      {overview.impairments.map((one) => (
        <Panel key={one.part} tone="bad" title={`Trouble with ${one.part}`}>
          <Stack tight>
            <Text>{sentence(one.reason)}</Text>
            <Muted>{sentence(one.next)}</Muted>
          </Stack>
        </Panel>
      ))}
      {backupTrouble(overview).map((trouble) => (
        <Panel key="backup" tone="bad" title="The last backup failed">
          <Text>{sentence(trouble)}</Text>
        </Panel>
      ))}
      {overview.stops.length > 0 && (
        <Panel tone="wait" title="Stops in force" flush>
          <Rows>
            {overview.stops.map((stop, i) => (
              <li key={i}>
                <State looks={modes} state={stop.mode} />
                <Grow>
                  <Stack tight>
                    <Strong>{nameOfStop(stop)}</Strong>
                    <Faint>
                      {plural(stop.devices, "device")}
                      {stop.by && ` · by ${stop.by}`}
                      {stop.since && (
                        <>
                          {" · "}
                          <Ago at={stop.since} />
                        </>
                      )}
                    </Faint>
                  </Stack>
                </Grow>
                {stop.scope === "server" ? (
                  <Faint>Set when the server was started</Faint>
                ) : (
                  <Act
                    needs="admin"
                    says="Muster writes again"
                    run={async () => {
                      await resume(stop);
                      void client.invalidateQueries();
                    }}
                  >
                    Resume
                  </Act>
                )}
              </li>
            ))}
          </Rows>
        </Panel>
      )}
    </>
  );
}

function nameOfStop(stop: Schemas["ModeStop"]): string {
  switch (stop.scope) {
    case "device":
      return stop.label || shortID(stop.deviceID);
    case "tag":
      return `Devices with the tag ${stop.tag}`;
    default:
      return "The whole fleet";
  }
}

function resume(stop: Schemas["ModeStop"]) {
  const body = { mode: "on" as const };
  if (stop.scope === "device") {
    const { deviceID } = stop;
    return ask(api.PUT("/api/v1/devices/{deviceID}/settings", { params: { path: { deviceID } }, body }));
  }
  if (stop.scope === "tag") {
    return ask(api.PUT("/api/v1/tags/{tag}/settings", { params: { path: { tag: stop.tag } }, body }));
  }
  return ask(api.PUT("/api/v1/configurator", { body }));
}

function StuckRollout({ rollout }: { rollout: Schemas["Rollout"] }) {
  return (
    <Panel
      tone={rollout.status === "halted" ? "bad" : "wait"}
      title={`Rollout ${rollout.id}`}
      actions={<State looks={rollouts} state={rollout.status} filled />}
    >
      <Row spread>
        <Stack tight>
          <Strong>{sentence(rollout.cause)}</Strong>
          <Text>{sentence(rollout.reason)}</Text>
          <Muted>{sentence(rollout.next)}</Muted>
        </Stack>
        <To href={`/rollouts/${rollout.id}`}>Decide</To>
      </Row>
    </Panel>
  );
}

/** Held is one group of equal changes: one answer for all of its devices. */
function Held({ group }: { group: Schemas["HeldGroup"] }) {
  const client = useQueryClient();
  const labels = useLabels();
  const templates = useQuery(queries.templates());
  const names = new Map((templates.data ?? []).map((one) => [one.id, one.label]));
  const devices = group.devices.map((one) => one.deviceID);
  const answer = (what: "consent" | "keep") => async () => {
    const given = await ask(
      api.POST("/api/v1/consents", {
        body: { digest: group.digest, answer: what, ...(group.rollout ? { rollout: group.rollout } : { devices }) },
      }),
    );
    void client.invalidateQueries();
    done(given.next);
  };
  const what = <Change change={{ ...group, class: "held" }} labels={labels} />;
  return (
    <Panel
      tone="wait"
      title={`Held on ${plural(group.devices.length, "device")}`}
      actions={
        <Row>
          {group.answers.includes("keep") && (
            <Act
              needs="operator"
              run={answer("keep")}
              confirm={{
                title: "Keep what is there?",
                verb: "Keep",
                body: (
                  <Stack>
                    {what}
                    <Named devices={group.devices} />
                  </Stack>
                ),
              }}
            >
              Keep what is there
            </Act>
          )}
          {group.answers.includes("consent") && (
            <Act
              needs={group.role}
              variant="filled"
              run={answer("consent")}
              confirm={{
                title: `Make this change on ${plural(group.devices.length, "device")}?`,
                verb: "Consent",
                body: (
                  <Stack>
                    {what}
                    <Named devices={group.devices} />
                  </Stack>
                ),
              }}
            >
              Consent…
            </Act>
          )}
        </Row>
      }
    >
      <Stack>
        {what}
        <Named devices={group.devices} />
        {group.templates.length > 0 && (
          <Faint>
            Asked for by{" "}
            {group.templates.map((id) => (
              <To key={id} href={`/templates/${id}`}>
                {names.get(id) || `template ${id}`}{" "}
              </To>
            ))}
          </Faint>
        )}
      </Stack>
    </Panel>
  );
}

const connectionKinds = new Set(Object.keys(connections));

function DeviceCause({ cause }: { cause: Cause }) {
  const client = useQueryClient();
  const isConnection = connectionKinds.has(cause.kind);
  const again = async () => {
    const outcome = await each(cause.devices, (device) => applyNow(device.deviceID), () => undefined);
    void client.invalidateQueries();
    const first = outcome.failed[0];
    if (first) failed(new Error(`${plural(outcome.failed.length, "device")} failed: ${first.reason}`));
    else done(`Applied on ${plural(outcome.done.length, "device")}`);
  };
  const only = cause.devices[0];
  return (
    <Panel
      tone={cause.kind === "contended" || cause.kind === "unstable" || cause.kind === "unconfirmed" ? "wait" : "bad"}
      title={<State looks={isConnection ? connections : configurations} state={cause.kind} />}
      actions={
        isConnection ? (
          only && <To href={`/devices/${only.deviceID}/settings`}>Look at it</To>
        ) : (
          <Act
            needs="operator"
            run={again}
            confirm={{
              title: "Apply the templates again?",
              verb: "Apply",
              body: <Named devices={cause.devices} />,
            }}
          >
            Apply again
          </Act>
        )
      }
    >
      <Stack>
        <Text>{sentence(cause.reason)}</Text>
        {cause.next && <Muted>{sentence(cause.next)}</Muted>}
        <Named devices={cause.devices} />
      </Stack>
    </Panel>
  );
}

const hour = 3_600_000;

/** Recent is what changed in the last hour, and who did it. */
function Recent() {
  const may = useMay("operator");
  const labels = useLabels();
  const now = useNow();
  const audit = useQuery({ ...queries.audit({ limit: 12 }), enabled: may, refetchInterval: 30_000 });
  if (!may) return null;
  return (
    <Panel title="Changed lately" flush actions={<To href="/audit">Audit</To>}>
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
                      <Muted>{labels.get(entry.subject) ?? entry.subject.slice(0, 60)}</Muted>
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

