import { Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { Stack } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Text, To } from "../../ui/text";
import { TextDifference } from "../../ui/textdiff";
import { templateOf, versionsAt } from "./audit";
import { whole } from "../templates/version";

type Entry = Schemas["AuditEntry"];

/** AuditDetail is the detail of an entry, with what was there before and after where that is kept. */
export function AuditDetail({ entry, isDevice, undo }: { entry: Entry; isDevice: boolean; undo: ReactNode }) {
  const [opened, setOpened] = useState(false);
  const template = templateOf(entry);
  return (
    <Stack tight>
      <Text>{entry.detail.slice(0, 1000)}</Text>
      {isDevice && /^device\.(apply|restore|write)/.test(entry.what) && (
        <To href={`/devices/${entry.subject}/history`}>Before and after</To>
      )}
      {undo}
      {template > 0 && (
        <>
          <div>
            <button type="button" className="u-link" onClick={() => setOpened(true)}>
              Before and after
            </button>
          </div>
          <Modal opened={opened} onClose={() => setOpened(false)} title={`Template ${template}`} size="xl">
            {opened && <Texts template={template} at={entry.at} />}
          </Modal>
        </>
      )}
    </Stack>
  );
}

function Texts({ template, at }: { template: number; at: string }) {
  const versions = useQuery(queries.templateVersions(template));
  return (
    <Loads query={versions}>
      {(all) => {
        const { made, before } = versionsAt(all, at);
        if (!made) {
          return <Nothing title="No text of its own">This entry changed nothing that the history of the template has.</Nothing>;
        }
        return <Between template={template} from={before?.generation} to={made.generation} />;
      }}
    </Loads>
  );
}

function Between({ template, from, to }: { template: number; from: number | undefined; to: number }) {
  const before = useQuery({ ...queries.templateVersion(template, from ?? 0), enabled: from !== undefined });
  const after = useQuery(queries.templateVersion(template, to));
  return (
    <Stack>
      <To href={`/templates/${template}`}>To the template</To>
      <Loads query={after}>
        {(made) =>
          from === undefined ? (
            <TextDifference before="" after={whole(made)} />
          ) : (
            <Loads query={before}>{(old) => <TextDifference before={whole(old)} after={whole(made)} />}</Loads>
          )
        }
      </Loads>
    </Stack>
  );
}
