import { Button, Menu, Tabs } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useLocation } from "wouter";
import { ask, titled, type Schemas } from "../../api/client";
import { inventory } from "../../api/inventory";
import { asProblem } from "../../api/problem";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { FolderState } from "../../ui/folderstate";
import { tally, worstFolder } from "../../ui/folderwords";
import { sentence, shortID } from "../../ui/format";
import { Panel, Row, Stack, StandingSince } from "../../ui/layout";
import { Ghosts, Loads, Nothing, Page } from "../../ui/page";
import { configurations, connections, modes, State } from "../../ui/state";
import { stopping } from "../../ui/stopping";
import { Ago, Chip, Faint, Muted, Prose, ShortID, Strong, Text, To } from "../../ui/text";
import { isTrouble } from "../waiting/troubles";
import { titles } from "../waiting/waiting";
import { applyNow } from "./bulkacts";
import { standing } from "./standing";
import { Overview } from "./tabs/Overview";

const Configuration = lazy(() => import("./tabs/Configuration"));
const Plan = lazy(() => import("./tabs/Plan"));
const Templates = lazy(() => import("./tabs/Templates"));
const History = lazy(() => import("./tabs/History"));
const Settings = lazy(() => import("./tabs/Settings"));
const Log = lazy(() => import("./tabs/Log"));

const tabs = {
  ...{ overview: "Overview", plan: "Plan", configuration: "Configuration", templates: "Templates" },
  ...{ history: "History", log: "Log" },
  settings: "Settings",
};

/** Device is everything about one daemon: how it stands, why, and what to do. */
export function Device({ id, tab }: { id: string; tab: string }) {
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const state = useQuery(queries.device(id));
  const fleet = useQuery(inventory());
  const row = fleet.data?.devices.find((one) => one.deviceID === id);
  const name = row?.label || shortID(id);
  const worst = worstFolder(row?.folders ?? {});
  const troubles = (row?.waits ?? []).filter(isTrouble);
  const isAdmin = useMay("admin");
  const setMode = (mode: "on" | "observe" | "paused") => async (title: string) => {
    await ask(titled(title).PUT("/api/v1/devices/{deviceID}/settings", { params: { path: { deviceID: id } }, body: { mode } }));
    void client.invalidateQueries();
  };
  if (state.error && unknown.has(asProblem(state.error).status)) return <NoDevice id={id} error={state.error} />;
  return (
    <Page
      title={name}
      crumb={{ href: "/devices", text: "Devices" }}
      updatedAt={state.dataUpdatedAt}
      sub={
        <>
          {state.data && <State badges={connections} state={state.data.connection} filled />}
          {state.data && <State badges={configurations} state={state.data.configuration} filled />}
          {worst && <FolderState state={worst} why={tally(row?.folders ?? {})} filled />}
          {row && row.mode !== "on" && <State badges={modes} state={row.mode} filled />}
          <ShortID id={id} />
        </>
      }
      actions={
        <>
          <Act
            needs="operator"
            says="Applied"
            disabled={state.data?.connection !== "online"}
            why="The device is not online."
            run={async () => {
              await applyNow(id);
              void client.invalidateQueries({ queryKey: ["device", id] });
            }}
          >
            Apply now
          </Act>
          {row?.mode === "on" ? (
            <Act
              needs="operator"
              says="Muster writes nothing to this device any more"
              undo={isAdmin ? () => setMode("on")("") : undefined}
              run={setMode("observe")}
              confirm={{
                title: `Stop writing to ${name.slice(0, 60)}?`,
                verb: stopping.observe.act,
                body: <Text>Muster goes on watching and planning. Only an administrator has it write again.</Text>,
              }}
            >
              {stopping.observe.act}
            </Act>
          ) : (
            <Act
              needs="admin"
              says="Muster writes to this device again"
              undo={() => setMode("observe")("")}
              run={setMode("on")}
            >
              {stopping.observe.back}
            </Act>
          )}
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="default" aria-label="More">
                <IconDots size={14} aria-hidden />
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => navigate(`/devices/${id}/settings`)}>Settings and removal</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </>
      }
    >
      <Loads query={state}>{(data) => <Standing state={data} folder={worst} troubles={troubles} />}</Loads>
      <Tabs value={tab} onChange={(to) => navigate(`/devices/${id}${to === "overview" ? "" : `/${to ?? ""}`}`)}>
        <Tabs.List>
          {Object.entries(tabs).map(([value, title]) => (
            <Tabs.Tab key={value} value={value}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} pt="lg">
          <Suspense fallback={<Ghosts />}>
            {tab === "overview" && <Overview id={id} row={row} />}
            {tab === "plan" && <Plan id={id} />}
            {tab === "configuration" && <Configuration id={id} />}
            {tab === "templates" && <Templates id={id} />}
            {tab === "history" && <History id={id} />}
            {tab === "log" && <Log id={id} />}
            {tab === "settings" && <Settings id={id} name={name} />}
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

const unknown = new Set([404, 422]); // what the server answers for an ID that it does not know, or that is none

function NoDevice({ id, error }: { id: string; error: unknown }) {
  const problem = asProblem(error);
  return (
    <Page title={shortID(id)} crumb={{ href: "/devices", text: "Devices" }}>
      <Nothing
        title={sentence(problem.message)}
        actions={
          <>
            <To href="/devices">All devices</To>
            <To href="/audit">Audit</To>
          </>
        }
      >
        <Prose>{problem.hint}</Prose>
      </Nothing>
    </Page>
  );
}

/** Standing is how the device stands, the worst first, and what to do. It is not green beside a trouble. */
function Standing({
  state,
  folder,
  troubles,
}: {
  state: Schemas["DeviceState"];
  folder: string | undefined;
  troubles: string[];
}) {
  const { tone, lines } = standing(state, folder, troubles);
  return (
    <Panel tone={tone}>
      <StandingSince
        since={
          <>
            Since <Ago at={state.since} />
          </>
        }
      >
        {lines.map(({ reason, next }, i) => (
          <Stack key={i} tight>
            {i === 0 ? (
              <Strong>
                <Prose>{reason}</Prose>
              </Strong>
            ) : (
              <Text>
                <Prose>{reason}</Prose>
              </Text>
            )}
            {next && (
              <Muted>
                <Prose>{next}</Prose>
              </Muted>
            )}
          </Stack>
        ))}
        {state.broughtBack && <Prose>{sentence(state.broughtBack)}</Prose>}
        {troubles.length > 0 && (
          <Row>
            <Faint>In trouble:</Faint>
            {troubles.map((cause) => (
              <Chip key={cause} href={`/devices?waiting=${cause}`}>
                {titles[cause] ?? cause}
              </Chip>
            ))}
          </Row>
        )}
      </StandingSince>
    </Panel>
  );
}
