import { IconAlertTriangle } from "@tabler/icons-react";
import { brief, count, sentence, shortID } from "../../ui/format";
import { Panel, Row, Rows, Stack } from "../../ui/layout";
import { State, type Tone } from "../../ui/state";
import { Ago, Chip, Faint, Muted, Prose, Text, To } from "../../ui/text";
import { Silence } from "./Silence";
import { byCount, headline, type Trouble } from "./troubles";

const mostTags = 4;
const tones: Record<string, Tone> = { critical: "bad", warning: "wait", info: "busy" };
const grades: Record<string, string> = { critical: "Critical", warning: "Warning", info: "Notice" };

/** Troubles are what is wrong now with devices and files, the worst kind first. Each leads to the devices that have it. */
export function Troubles({ troubles }: { troubles: Trouble[] }) {
  if (troubles.length === 0) return null;
  return (
    <Panel title="Wrong now" flush>
      <Rows>
        {troubles.map((trouble) => (
          <li key={trouble.cause}>
            <OneTrouble trouble={trouble} />
          </li>
        ))}
      </Rows>
    </Panel>
  );
}

function OneTrouble({ trouble }: { trouble: Trouble }) {
  const { severity, since, query, reason, next, tags } = trouble;
  const grade = { word: grades[severity] ?? severity, tone: tones[severity] ?? "wait", icon: IconAlertTriangle };
  return (
    <Stack tight>
      <Row>
        <State badges={{ [severity]: grade }} state={severity} />
        <To href={`/devices?${query}`}>{headline(trouble)}</To>
        {since && (
          <Faint>
            since <Ago at={since} />
          </Faint>
        )}
        {byCount(tags)
          .slice(0, mostTags)
          .map(([tag, n]) => (
            <Chip key={tag} href={`/devices?${query}&tag=${encodeURIComponent(tag)}`}>{`${tag} ${count(n)}`}</Chip>
          ))}
        <Silence cause={trouble.cause} tags={byCount(tags).map(([tag]) => tag)} />
      </Row>
      <Text>
        <Where trouble={trouble} />
        <Prose>{brief(reason, 400)}</Prose>
      </Text>
      {next && (
        <Muted>
          <Prose>{brief(sentence(next), 400)}</Prose>
        </Muted>
      )}
    </Stack>
  );
}

/** Where is the place where a trouble stands longest, which its reason is about. */
function Where({ trouble: { deviceID, label, folder } }: { trouble: Trouble }) {
  if (deviceID === "") return null;
  return (
    <>
      <To href={`/devices/${deviceID}`}>{brief(label, 60) || shortID(deviceID)}</To>
      {folder && (
        <>
          , <To href={`/folders/${encodeURIComponent(folder)}`}>{brief(folder, 60)}</To>
        </>
      )}
      {": "}
    </>
  );
}
