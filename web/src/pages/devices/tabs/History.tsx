import { Select } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../../api/client";
import { useLabels } from "../../../api/labels";
import { queries } from "../../../api/queries";
import { Change } from "../../../ui/change";
import { Export } from "../../../ui/export";
import { exactly, plural, roomAfter, shortID } from "../../../ui/format";
import { Panel, Row, Rows, Split, Stack } from "../../../ui/layout";
import { Loads, Nothing } from "../../../ui/page";
import type { Tone } from "../../../ui/state";
import { Ago, Chip, Faint, Text } from "../../../ui/text";
import { Restore } from "./Restore";

type Revision = Schemas["Revision"];

const causes: Record<string, string> = {
  template: "Muster applied templates",
  daemon: "Changed at the daemon",
  restore: "Restored",
  accept: "Something was let in",
};

const tones: Record<string, Tone> = { template: "good", daemon: "wait", restore: "busy", accept: "busy" };
const mostDots = 60;

const causeOf = ({ cause }: Revision) => causes[cause] ?? "First contact, or the cause is not known";

/** History is every configuration that the device was seen with: compare any two, restore any one. */
export default function History({ id }: { id: string }) {
  const revisions = useQuery(queries.revisions(id));
  return (
    <Loads query={revisions}>
      {(all) => {
        const newestFirst = [...all].sort((a, b) => b.number - a.number);
        const newest = newestFirst[0];
        return newest ? (
          <Compare id={id} revisions={newestFirst} newest={newest} />
        ) : (
          <Panel>
            <Nothing icon={IconHistory} title="No configuration was seen yet">
              The first contact with the daemon makes the first revision.
            </Nothing>
          </Panel>
        );
      }}
    </Loads>
  );
}

function Compare({ id, revisions, newest }: { id: string; revisions: Revision[]; newest: Revision }) {
  const labels = useLabels();
  const [from, setFrom] = useState(revisions[1]?.number ?? newest.number);
  const [to, setTo] = useState(newest.number);
  const show = (number: number) => {
    setTo(number);
    setFrom(revisions[revisions.findIndex((one) => one.number === number) + 1]?.number ?? number);
  };
  return (
    <Split>
      <Stack>
        <Line revisions={revisions} from={from} to={to} show={show} />
        <Difference id={id} from={from} to={to} revisions={revisions} setFrom={setFrom} setTo={setTo} />
      </Stack>
      <Panel
        title={plural(revisions.length, "revision")}
        flush
        actions={<Export name={`revisions-of-${shortID(id)}`} rows={() => revisions} says="All revisions" />}
      >
        <Rows>
          {revisions.map((revision) => (
            <li key={revision.number}>
              <Stack tight>
                <Row spread>
                  <button
                    type="button"
                    className="u-link"
                    aria-pressed={to === revision.number}
                    onClick={() => show(revision.number)}
                  >
                    Revision {revision.number}
                  </button>
                  {revision.number === newest.number ? (
                    <Chip>now</Chip>
                  ) : (
                    <Restore id={id} revision={revision} newest={newest.number} labels={labels} />
                  )}
                </Row>
                <Faint>
                  {causeOf(revision)} · <Ago at={revision.seenAt} />
                </Faint>
              </Stack>
            </li>
          ))}
        </Rows>
      </Panel>
    </Split>
  );
}

/** Line is the revisions in time, the oldest first: how long each one was in force is the room after its dot. */
function Line({
  revisions,
  from,
  to,
  show,
}: {
  revisions: Revision[]; // newest first
  from: number;
  to: number;
  show: (number: number) => void;
}) {
  const shown = revisions.slice(0, mostDots).reverse();
  const room = roomAfter(shown.map((one) => one.seenAt));
  return (
    <Panel title="In time">
      <ol className="u-line-of-time" tabIndex={0} aria-label="Revisions in time">
        {shown.map((one, i) => (
          <li key={one.number} style={{ flexGrow: room[i] }}>
            <button
              type="button"
              className="u-dot"
              data-tone={tones[one.cause] ?? "quiet"}
              data-from={one.number === from || undefined}
              aria-pressed={one.number === to}
              aria-label={`Revision ${one.number}: ${causeOf(one)}`}
              data-hint={`Revision ${one.number}: ${causeOf(one)}, ${exactly(new Date(one.seenAt))}`}
              onClick={() => show(one.number)}
            />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Difference({
  id,
  from,
  to,
  revisions,
  setFrom,
  setTo,
}: {
  id: string;
  from: number;
  to: number;
  revisions: Revision[];
  setFrom: (n: number) => void;
  setTo: (n: number) => void;
}) {
  const labels = useLabels();
  const diff = useQuery({ ...queries.revisionDiff(id, from, to), enabled: from !== to });
  const options = revisions.map((one) => ({ value: String(one.number), label: `Revision ${one.number}, ${exactly(new Date(one.seenAt))}` }));
  return (
    <Panel
      flush
      title={
        <Row>
          <Select
            aria-label="From"
            w={310}
            data={options}
            value={String(from)}
            onChange={(value) => setFrom(Number(value))}
            allowDeselect={false}
          />
          <Text>to</Text>
          <Select
            aria-label="To"
            w={310}
            data={options}
            value={String(to)}
            onChange={(value) => setTo(Number(value))}
            allowDeselect={false}
          />
        </Row>
      }
    >
      {from === to ? (
        <Nothing title="Choose two revisions">They are the same now.</Nothing>
      ) : (
        <Loads query={diff}>
          {({ changes }) =>
            changes.length === 0 ? (
              <Nothing title="No difference">Both hold the same configuration.</Nothing>
            ) : (
              <Rows>
                {changes.map((change) => (
                  <li key={change.key}>
                    <Change change={change} labels={labels} />
                  </li>
                ))}
              </Rows>
            )
          }
        </Loads>
      )}
    </Panel>
  );
}
