import { IconAlertTriangle, IconInfoCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../../api/queries";
import { useInAddress } from "../../../ui/address";
import { Export } from "../../../ui/export";
import { SearchField } from "../../../ui/field";
import { Filters } from "../../../ui/filters";
import { brief, shortID } from "../../../ui/format";
import { List, Panel, Stack } from "../../../ui/layout";
import { Loads, Nothing } from "../../../ui/page";
import { matches } from "../../../ui/search";
import { State, type Badge } from "../../../ui/state";
import { Moment, Text } from "../../../ui/text";

/** Log is the daemon's own log, the newest line first. The daemon is asked for it. */
export default function Log({ id }: { id: string }) {
  const [search, setSearch] = useInAddress("q");
  const log = useQuery(queries.deviceLog(id));
  return (
    <Stack>
      <SearchField label="Search the log" value={search} onChange={setSearch}>
        <Filters page="log" />
      </SearchField>
      <Loads query={log}>
        {(lines) => {
          const rows = lines
            .map((line, i) => ({ ...line, i }))
            .filter(({ level, text }) => matches(search, [level, text]))
            .reverse();
          return (
            <Panel
              title="The daemon's own log, the newest line first"
              flush
              actions={
                <Export name={`log-of-${shortID(id)}`} rows={() => rows.map(({ at, level, text }) => ({ at, level, text }))} says="All lines that the search finds" />
              }
            >
              {rows.length === 0 ? (
                <Nothing title="No line">{search ? "Search for another word." : "The daemon has logged nothing since its start."}</Nothing>
              ) : (
                <List
                  kept="sort"
                  rows={rows}
                  id={({ i }) => i}
                  columns={[
                    { title: "When", cell: ({ at }) => <Moment at={at} />, by: ({ at }) => at },
                    { title: "Level", cell: ({ level }) => <Level level={level} />, by: ({ level }) => level },
                    { title: "What", cell: ({ text }) => <Text>{brief(text, 600)}</Text> },
                  ]}
                />
              )}
            </Panel>
          );
        }}
      </Loads>
    </Stack>
  );
}

const levels: Record<string, Badge> = {
  warning: { word: "Warning", tone: "wait", icon: IconAlertTriangle },
  info: { word: "Info", tone: "quiet", icon: IconInfoCircle },
};

function Level({ level }: { level: string }) {
  return <State badges={levels} state={brief(level, 20)} />;
}
