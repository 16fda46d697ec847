import { Button, Select } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../../api/client";
import { queries } from "../../api/queries";
import { Export } from "../../ui/export";
import { Row, Rows, Stack } from "../../ui/layout";
import { Loads, Nothing } from "../../ui/page";
import { Ago, Faint, Strong, Text } from "../../ui/text";
import { TextDifference } from "../../ui/textdiff";
import type { Draft } from "./draft";
import { whole, type Said } from "./version";

type Version = Schemas["TemplateVersion"];

const editor = 0; // stands for what is in the editor now; generations begin with 1

interface Props {
  id: number;
  draft: Draft;
  mayWrite: boolean;
  onRestore: (part: Partial<Draft>) => void;
}

/** History is every version of the template, with who and when: compare any two, put an old one into the editor. */
export function History(props: Props) {
  const versions = useQuery(queries.templateVersions(props.id));
  return (
    <Loads query={versions}>
      {(all) => {
        const newest = all[0];
        return newest ? (
          <Compare {...props} versions={all} newest={newest} />
        ) : (
          <Nothing icon={IconHistory} title="No version is kept">Saving the template makes the first one.</Nothing>
        );
      }}
    </Loads>
  );
}

function Compare({ id, draft, versions, newest, mayWrite, onRestore }: Props & { versions: Version[]; newest: Version }) {
  const [from, setFrom] = useState(versions[1]?.generation ?? newest.generation);
  const [to, setTo] = useState(editor);
  const [before, after] = [useText(id, from, draft), useText(id, to, draft)];
  const options = [
    { value: String(editor), label: "In the editor" },
    ...versions.map((one) => ({ value: String(one.generation), label: `Generation ${one.generation}` })),
  ];
  const old = before.data;
  return (
    <Stack>
      <Row>
        <Select
          aria-label="From"
          w={150}
          data={options}
          value={String(from)}
          onChange={(value) => setFrom(Number(value))}
          allowDeselect={false}
        />
        <Text>to</Text>
        <Select
          aria-label="To"
          w={150}
          data={options}
          value={String(to)}
          onChange={(value) => setTo(Number(value))}
          allowDeselect={false}
        />
        {mayWrite && from !== editor && old && (
          <Button
            variant="default"
            onClick={() =>
              onRestore({ label: old.label, priority: old.priority, op: old.op, key: old.key, template: old.template })
            }
          >
            Put generation {from} into the editor
          </Button>
        )}
        <Export name={`versions-of-template-${id}`} rows={() => versions} says="All versions, without their texts" />
      </Row>
      <Loads query={before}>
        {(one) => (
          <Loads query={after}>{(other) => <TextDifference before={whole(one)} after={whole(other)} />}</Loads>
        )}
      </Loads>
      <Rows dense>
        {versions.map((version, i) => (
          <li key={version.generation}>
            <Stack tight>
              <button
                type="button"
                className="u-link"
                onClick={() => {
                  setTo(version.generation);
                  setFrom(versions[i + 1]?.generation ?? version.generation);
                }}
              >
                Generation {version.generation}
              </button>
              <Faint>
                <Strong>{version.by || "not known who"}</Strong>
                {version.savedBy && version.savedBy !== version.by && `, text by ${version.savedBy}`} ·{" "}
                <Ago at={version.at} />
              </Faint>
            </Stack>
          </li>
        ))}
      </Rows>
    </Stack>
  );
}

/** useText is a version with its text, or the draft of the editor. */
function useText(id: number, generation: number, draft: Draft) {
  const version = useQuery({
    ...queries.templateVersion(id, generation),
    enabled: generation !== editor,
    select: (one): Said => one,
  });
  const { data, error, isPending, refetch } = version;
  return generation === editor ? { data: draft, error: null, isPending: false, refetch } : { data, error, isPending, refetch };
}
