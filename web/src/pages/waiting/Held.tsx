import { useEffect, useState } from "react";
import type { Schemas } from "../../api/client";
import { useLabels } from "../../api/labels";
import { Change } from "../../ui/change";
import { withLabels } from "../../ui/difference";
import { brief, plural, shortID } from "../../ui/format";
import { Row, Stack } from "../../ui/layout";
import { Ghosts, Wrong } from "../../ui/page";
import { Few } from "../../ui/tags";
import { Chip, Faint } from "../../ui/text";
import { Sentences } from "../whatif/Sentences";
import { namesOf, sameChanges } from "./held";
import { wholeGroup } from "./whole";

type WaitingGroup = Schemas["WaitingGroup"];
type HeldChange = Schemas["HeldChange"];

const mostOpen = 3; // different changes that are open at first

/** HeldChanges shows held changes, equal ones once, with every device that they change and all that they name. */
export function HeldChanges({ changes }: { changes: HeldChange[] }) {
  const kinds = sameChanges(changes);
  return (
    <Stack tight>
      {kinds.map((same) => (
        <Same key={`${same[0].deviceID} ${same[0].key}`} same={same} open={kinds.length <= mostOpen} />
      ))}
    </Stack>
  );
}

function Same({ same, open }: { same: [HeldChange, ...HeldChange[]]; open: boolean }) {
  const labels = useLabels();
  const change = same[0];
  const names = namesOf(change.names);
  return (
    <details open={open}>
      <summary>
        {same.length === 1 ? change.label || shortID(change.deviceID) : plural(same.length, "device")}:{" "}
        {brief(withLabels(change.key, labels), 200)}
      </summary>
      <Stack tight>
        <Change change={change} labels={labels} whole />
        {names && <Faint>Names {names}</Faint>}
        {change.digest === "" && <Faint>Too large to be answered here: the plan of the device shows it.</Faint>}
        <Row>
          <Few all={same} word="device">
            {({ deviceID, label }) => (
              <Chip key={deviceID} href={`/devices/${deviceID}`} title={label}>
                {label || shortID(deviceID)}
              </Chip>
            )}
          </Few>
        </Row>
      </Stack>
    </details>
  );
}

/** Answering shows all of a group as it is when the dialog opens: the answer is for what is shown here. */
export function Answering({ group, shows }: { group: WaitingGroup; shows: (group: WaitingGroup | undefined) => void }) {
  const [whole, setWhole] = useState<WaitingGroup>();
  const [error, setError] = useState<unknown>();
  const { id } = group;
  useEffect(() => {
    let open = true;
    wholeGroup(id).then(
      (loaded) => {
        if (!open) return;
        setWhole(loaded);
        shows(loaded);
      },
      (why: unknown) => {
        if (open) setError(why);
      },
    );
    return () => {
      open = false;
      shows(undefined);
    };
  }, [id, shows]);
  if (error !== undefined) return <Wrong error={error} />;
  if (!whole) return <Ghosts rows={2} />;
  return (
    <Stack tight>
      {whole.summary && <Sentences summary={whole.summary} />}
      <HeldChanges changes={whole.devices.flatMap(({ held }) => held)} />
    </Stack>
  );
}
