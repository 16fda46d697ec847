import { Autocomplete, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useSearchParams } from "wouter";
import { useLabels } from "../../../api/labels";
import { queries } from "../../../api/queries";
import { Change } from "../../../ui/change";
import { valueText, withLabels } from "../../../ui/difference";
import { sentence } from "../../../ui/format";
import { Fact, Facts, Panel, Row, Rows, Stack } from "../../../ui/layout";
import { Loads, Note } from "../../../ui/page";
import { TagChips } from "../../../ui/tags";
import { Ago, Faint, Mono, Muted, Prose, To } from "../../../ui/text";
import { keysOf } from "../../templates/complete";

/** Why says where the value of a key comes from. The key is in the address, so that it can be sent to others. */
export function Why({ id }: { id: string }) {
  const [params, setParams] = useSearchParams();
  const asked = params.get("key") ?? "";
  const [key, setKey] = useState(asked);
  const config = useQuery(queries.config(id));
  const keys = useMemo(() => keysOf(config.data).filter((one) => !one.includes("*")), [config.data]);
  const ask = (about: string) => {
    setKey(about);
    setParams(about ? { key: about } : {}, { replace: true });
  };
  return (
    <Panel title="Where a value comes from">
      <Stack>
        <form
          className="u-row"
          onSubmit={(event) => {
            event.preventDefault();
            ask(key.trim());
          }}
        >
          <Autocomplete
            w={360}
            size="xs"
            aria-label="Key"
            placeholder="A key, as in options.maxSendKbps"
            data={keys}
            limit={20}
            value={key}
            onChange={setKey}
            onOptionSubmit={ask}
          />
          <Button type="submit" variant="default">
            Explain
          </Button>
        </form>
        {asked && <Explained id={id} about={asked} />}
      </Stack>
    </Panel>
  );
}

/**
 * Explained is where the value of a key comes from. Where the page shows the key and its value already, isNamed leaves
 * them out.
 */
export function Explained({ id, about, isNamed = false }: { id: string; about: string; isNamed?: boolean }) {
  const why = useQuery(queries.why(id, about));
  const labels = useLabels();
  return (
    <Loads query={why}>
      {(data) => {
        const shown = (value: unknown) => <Mono>{withLabels(valueText(value), labels).slice(0, 2000)}</Mono>;
        const differs = JSON.stringify(data.value) !== JSON.stringify(data.observed);
        return (
          <Stack>
            <Facts>
              {!isNamed && (
                <Fact name="Key">
                  <Mono>{withLabels(data.key, labels)}</Mono>
                </Fact>
              )}
              {(!isNamed || differs) && <Fact name="Asked for">{shown(data.value)}</Fact>}
              {differs && <Fact name="The daemon has">{shown(data.observed)}</Fact>}
              {data.origin !== "base" && <Fact name="Before templates">{shown(data.base)}</Fact>}
            </Facts>
            <Prose>{sentence(withLabels(data.reason, labels))}</Prose>
            {data.help && <Muted>{data.help}</Muted>}
            {data.agreed.map((agreed) => (
              <Row key={agreed.template}>
                <To href={`/templates/${agreed.template}`}>{agreed.label.slice(0, 100) || `Template ${agreed.template}`}</To>
                <Faint>asks for the same</Faint>
              </Row>
            ))}
            {data.conflicts.map((conflict) => (
              <Note key={conflict}>{sentence(conflict)}</Note>
            ))}
            <Rows>
              {data.steps.map((step, i) => (
                <li key={i}>
                  <Stack tight>
                    <Row>
                      <To href={`/templates/${step.template}`}>{step.label.slice(0, 100) || `Template ${step.template}`}</To>
                      <Faint>
                        priority {step.priority}, {step.op} at {step.at || "everything"}
                        {step.line > 0 && `, line ${step.line}`}
                        {step.savedBy && `, by ${step.savedBy}`} <Ago at={step.savedAt} />
                      </Faint>
                      <TagChips tags={step.tags} />
                    </Row>
                    {step.vars.map((one) => (
                      <Faint key={one.name}>
                        reads the var {one.name} {one.tag ? `of the tag ${one.tag}` : "of the device"}: {valueText(one.value)}
                      </Faint>
                    ))}
                    <Change change={{ key: data.key, from: step.from, to: step.to }} labels={labels} />
                  </Stack>
                </li>
              ))}
              {data.skipped.map((skipped, i) => (
                <li key={`skipped-${i}`}>
                  <Faint>
                    <To href={`/templates/${skipped.template}`}>{`Template ${skipped.template}`}</To> leaves out{" "}
                    {withLabels(skipped.key, labels)}: {withLabels(skipped.reason, labels)}
                  </Faint>
                </li>
              ))}
            </Rows>
          </Stack>
        );
      }}
    </Loads>
  );
}
