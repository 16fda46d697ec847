import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Schemas } from "../../api/client";
import { inventory } from "../../api/inventory";
import { FolderState } from "../../ui/folderstate";
import { folderStates, worstFolder } from "../../ui/folderwords";
import { brief, count, shortID } from "../../ui/format";
import { Fact, Facts, List, Panel, Row } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { badgeOf, configurations, connections, State, type Badge } from "../../ui/state";
import { Muted, To } from "../../ui/text";

const fewDevices = 8; // as many are listed by name

/** States are all states that anything of the fleet is in, with how many. Each leads to those that are in it. */
export function States({ overview }: { overview: Schemas["Overview"] }) {
  const folders = { ...overview.folders, all: 0 };
  return (
    <>
      <Panel title="The fleet now">
        <Facts>
          <Fact name="Connections">
            <Counts badges={connections} counts={overview.connections} to={(state) => `/devices?state=${state}`} />
          </Fact>
          <Fact name="Configurations">
            <Counts badges={configurations} counts={overview.configurations} to={(state) => `/devices?state=${state}`} />
          </Fact>
          <Fact name="Folders">
            <Counts badges={folderStates} counts={folders} to={(state) => `/folders?state=${state}`} />
          </Fact>
        </Facts>
      </Panel>
      {overview.devices <= fewDevices && <Devices />}
    </>
  );
}

interface CountsProps {
  badges: Record<string, Badge>;
  counts: Readonly<Record<string, number>>;
  to: (state: string) => string;
}

/** Counts are the states that occur, in the order of their badges. */
function Counts({ badges, counts, to }: CountsProps): ReactNode {
  const order = Object.keys(badges);
  const found = Object.keys(counts).filter((state) => (counts[state] ?? 0) > 0);
  found.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  if (found.length === 0) return <Muted>none</Muted>;
  return (
    <Row>
      {found.map((state) => {
        const counted = badgeOf(badges, state);
        const word = `${count(counts[state] ?? 0)} ${counted.word.toLowerCase()}`;
        return (
          <Link key={state} href={to(state)} className="u-counted">
            <State badges={{ [state]: { ...counted, word } }} state={state} />
          </Link>
        );
      })}
    </Row>
  );
}

/** Devices lists a fleet that is so small that its devices are known by name. */
function Devices() {
  const fleet = useQuery(inventory());
  return (
    <Panel title="Devices" flush actions={<To href="/devices">All columns</To>}>
      <Loads query={fleet} rows={3}>
        {({ devices }) => (
          <List
            rows={devices.slice(0, fewDevices)}
            id={(row) => row.deviceID}
            columns={[
              {
                title: "Device",
                cell: (row) => <To href={`/devices/${row.deviceID}`}>{brief(row.label, 60) || shortID(row.deviceID)}</To>,
              },
              { title: "Connection", cell: (row) => <State badges={connections} state={row.connection} /> },
              { title: "Configuration", cell: (row) => <State badges={configurations} state={row.configuration} hint={row.reason} /> },
              { title: "Folders", cell: ({ folders }) => <WorstFolder counts={folders} /> },
            ]}
          />
        )}
      </Loads>
    </Panel>
  );
}

function WorstFolder({ counts }: { counts: Readonly<Record<string, number>> }) {
  const worst = worstFolder(counts);
  return worst === undefined ? <Muted>none</Muted> : <FolderState state={worst} />;
}
