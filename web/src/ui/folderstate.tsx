import { IconAlertTriangle } from "@tabler/icons-react";
import type { FolderFinding, FolderStanding } from "../api/folderstanding";
import { completion, ending, isCurrent, missing, pace } from "./folderfigures";
import { folderStates } from "./folderwords";
import { brief, count, sentence, size } from "./format";
import { useNow } from "./now";
import { State } from "./state";
import { Ago, Bar, Faint, Muted, Prose, Stacked, Text } from "./text";

/** FolderState is a state alone, where a list has no room for more. What it means, and why, shows on hover. */
export function FolderState({ state, why = "", filled }: { state: string; why?: string; filled?: boolean }) {
  const hint = [folderStates[state]?.meaning ?? "", why && sentence(why)].filter(Boolean).join(" ");
  return <State badges={folderStates} state={state} hint={hint} {...(filled ? { filled } : {})} />;
}

/** quiet are the states whose reason is what the figures beside them say. */
const quiet = new Set(["upToDate", "syncing"]);

/**
 * FolderWhy is the state with its reason, what the daemon says, what a person can do, and since when it is so. told is
 * what to do as the page says it above already: it is not said twice.
 */
export function FolderWhy({ standing, told }: { standing: FolderStanding; told: string | undefined }) {
  const { state, last, reason, next, since, error, besides = [] } = standing;
  const said = error && !reason.includes(error.text) ? error.text : "";
  return (
    <Stacked>
      <FolderState state={state} />
      {!quiet.has(state) && (
        <Text>
          <Prose>{brief(sentence(reason), 500)}</Prose>
        </Text>
      )}
      {said && <Faint>The daemon says: {brief(said, 500)}</Faint>}
      {next && next !== told && (
        <Muted>
          <Prose>{brief(sentence(next), 500)}</Prose>
        </Muted>
      )}
      {besides.map((one) => (
        <Besides key={one.cause} finding={one} />
      ))}
      <Faint>
        {since && (
          <>
            Since <Ago at={since} />
          </>
        )}
        {last && `${since ? ". " : ""}Before: ${(folderStates[last]?.word ?? last).toLowerCase()}`}
      </Faint>
    </Stacked>
  );
}

function Besides({ finding: { reason, next } }: { finding: FolderFinding }) {
  return (
    <>
      <span className="u-state" data-tone="wait">
        <IconAlertTriangle size={14} aria-hidden />
        <span className="u-text">
          <Prose>{brief(sentence(reason), 500)}</Prose>
        </span>
      </span>
      {next && (
        <Muted>
          <Prose>{brief(sentence(next), 500)}</Prose>
        </Muted>
      )}
    </>
  );
}

/** FolderFigures are how far the folder is, with their age. Those that are not of now have neither colour nor bar. */
export function FolderFigures({ standing, name }: { standing: FolderStanding; name: string }) {
  const now = useNow();
  const lacking = missing(standing);
  const percent = completion(standing);
  if (!standing.asOf) return <Muted>Never read</Muted>;
  const read = <Ago at={standing.asOf} before="Read " />;
  if (!isCurrent(standing)) {
    return (
      <Stacked>
        {lacking && <Muted>Lacked {lacking}</Muted>}
        <Faint>{read}</Faint>
      </Stacked>
    );
  }
  const plain = standing.besides?.length ? { tone: "plain" as const } : {}; // no green beside a trouble
  const progress = [pace(standing), ending(standing, now)].filter(Boolean).join(", ");
  return (
    <Stacked>
      {percent !== undefined && <span>{percent} %</span>}
      {percent !== undefined && <Bar value={percent} label={`Progress of ${name}`} {...plain} />}
      {lacking && <span>{lacking} missing</span>}
      {progress && <span>{progress}</span>}
      <Faint>{read}</Faint>
    </Stacked>
  );
}

/** Connected is how many of the devices that share the folder too are connected to this one. */
export function Connected({ standing: { peers, state } }: { standing: FolderStanding }) {
  if (state === "unknown") return <Muted>not known</Muted>;
  return <span>{`${count(peers.connected)} of ${count(peers.shared)}`}</span>;
}

/** Whole is how large all of the folder is, as the device knew it last. */
export function Whole({ standing: { globalBytes, state } }: { standing: FolderStanding }) {
  if (globalBytes <= 0 && state !== "upToDate") return <Muted>not known</Muted>;
  return <span>{size(globalBytes)}</span>;
}
