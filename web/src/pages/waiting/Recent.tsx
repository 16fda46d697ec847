import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "../../api/client";
import { useLabelsOf, useTemplateNames } from "../../api/labels";
import { queries } from "../../api/queries";
import { brief } from "../../ui/format";
import { Panel, Row, Rows, Stack } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Ago, Faint, Muted, Strong, Text, To } from "../../ui/text";
import { placeOf, subjectOf } from "../audit/audit";

type Change = Schemas["RecentChange"];
type Part = Schemas["ChangePart"];

const mostParts = 3;

/** Recent is what people changed last, and what for. Equal changes of one moment are one line. */
export function Recent() {
  const changes = useQuery(queries.recentChanges());
  return (
    <Panel title="Last changes by people" flush actions={<To href="/audit">Audit</To>}>
      <Loads query={changes}>
        {(all) =>
          all.length === 0 ? (
            <Nothing title="No change yet">What people and tokens change shows here, with its title.</Nothing>
          ) : (
            <Changes all={all} />
          )
        }
      </Loads>
    </Panel>
  );
}

/** Labels are those of the devices that changes name. */
type Labels = ReadonlyMap<string, string>;

function Changes({ all }: { all: Change[] }) {
  const named = all.flatMap(({ parts }) => parts.filter(({ count }) => count === 1).map(({ subject }) => subject));
  const labels = useLabelsOf(named.filter((subject) => deviceID.test(subject)));
  return (
    <Rows dense>
      {all.map((change) => (
        <li key={`${change.at} ${change.who} ${change.parts[0]?.what ?? ""}`}>
          <OneChange change={change} labels={labels} />
        </li>
      ))}
    </Rows>
  );
}

const deviceID = /^([A-Z2-7]{7}-){7}[A-Z2-7]{7}$/;

function OneChange({ change, labels }: { change: Change; labels: Labels }) {
  const { who, title, parts, at } = change;
  return (
    <Stack tight>
      {title && <Strong>{brief(title, 200)}</Strong>}
      <Row spread nowrap>
        <Text>
          <Strong>{brief(who, 60)}</Strong>
          {": "}
          {parts.slice(0, mostParts).map((part, i) => (
            <span key={part.what}>
              {i > 0 && ", "}
              <OnePart part={part} more={change.more} labels={labels} />
            </span>
          ))}
          {parts.length > mostParts && <Muted> and more</Muted>}
        </Text>
        <Faint>
          <Ago at={at} />
        </Faint>
      </Row>
    </Stack>
  );
}

/** OnePart says what was done, as the server says it; one that is alone is named, and leads to its page. */
function OnePart({ part, more, labels }: { part: Part; more: boolean; labels: Labels }) {
  const names = useTemplateNames();
  if (more) return <>more than {part.text}</>;
  if (part.count > 1 || part.subject === "") return <>{part.text}</>;
  const name = brief(subjectOf(part, labels, names), 60);
  const place = placeOf(part, labels.has(part.subject));
  return (
    <>
      {part.text} {place ? <To href={place}>{name}</To> : <Muted>{name}</Muted>}
    </>
  );
}
