import { Textarea } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { queries } from "../../api/queries";
import { useMay } from "../../session/me";
import { DraftNotes } from "../../ui/draftnotes";
import { Export } from "../../ui/export";
import { shortID } from "../../ui/format";
import { useFormDraft } from "../../ui/formdraft";
import { Rows, Stack } from "../../ui/layout";
import { Loads } from "../../ui/page";
import { Faint, Mono } from "../../ui/text";
import { Planned } from "../whatif/Planned";
import { linesOf, losesDigits, parseLines, sameText, written } from "./vars";

export type Owner = { device: string } | { tag: string };

const varsOf = (of: Owner) => ("tag" in of ? queries.tagVars(of.tag) : queries.deviceVars(of.device));

/** Vars are the values that templates read of a device, or of the devices with a tag. A change shows its plan before. */
export function Vars({ of }: { of: Owner }) {
  const vars = useQuery(varsOf(of));
  return (
    <Loads query={vars} rows={2}>
      {(data) => (
        <Stack>
          <Editor key={"tag" in of ? `tag ${of.tag}` : of.device} of={of} stored={linesOf(data.vars)} />
          {"device" in of && <OfTags device={of.device} />}
        </Stack>
      )}
    </Loads>
  );
}

/** ExportVars exports the vars of a tag, or those of a device with the ones that it has by its tags. */
export function ExportVars({ of }: { of: Owner }) {
  const client = useQueryClient();
  if ("tag" in of) {
    const rows = async () => {
      const { vars } = await client.query(queries.tagVars(of.tag));
      return Object.entries(vars).map(([name, value]) => ({ name, value: written(value) }));
    };
    return <Export name={`vars-of-${of.tag}`} rows={rows} says="All vars of the tag" />;
  }
  const rows = async () => {
    const { vars } = await client.query(queries.effectiveVars(of.device));
    return Object.entries(vars).map(([name, { value, tag }]) => ({ name, value: written(value), tag }));
  };
  return <Export name={`vars-of-${shortID(of.device)}`} rows={rows} says="All vars of the device, its tags’ too" />;
}

/** Editor shows what is stored until somebody types. What is typed stays, and a note tells of other vars stored meanwhile. */
function Editor({ of, stored }: { of: Owner; stored: string }) {
  const client = useQueryClient();
  const isAuthor = useMay("author");
  const keep = "tag" in of ? `vars/tag/${of.tag}` : `vars/device/${of.device}`;
  const form = useFormDraft(stored, "", sameText, { keep });
  const { draft, setDraft, dirty, saved, discard } = form;
  const read = parseLines(draft);
  return (
    <Stack>
      <DraftNotes form={form} what="these vars" />
      <Textarea
        size="xs"
        label="One NAME = VALUE on each line"
        description="Templates read them as device.vars.NAME. They are no secrets"
        autosize
        minRows={2}
        readOnly={!isAuthor}
        value={draft}
        error={"wrong" in read && read.wrong}
        onChange={(event) => setDraft(event.currentTarget.value)}
      />
      {dirty && "vars" in read && (
        <Planned
          body={{ vars: "tag" in of ? { tags: { [of.tag]: read.vars } } : { devices: { [of.device]: read.vars } } }}
          needs="author"
          onDiscard={discard}
          onDone={() => {
            saved();
            void client.invalidateQueries();
          }}
        />
      )}
    </Stack>
  );
}

/** OfTags are the vars that a device has by its tags. */
function OfTags({ device }: { device: string }) {
  const all = useQuery(queries.effectiveVars(device));
  const inherited = Object.entries(all.data?.vars ?? {}).filter(([, one]) => one.tag !== "");
  if (inherited.length === 0) return <Faint>It has none by its tags.</Faint>;
  return (
    <Rows dense>
      {inherited.sort().map(([name, one]) => (
        <li key={name}>
          <Mono>{linesOf({ [name]: one.value })}</Mono> <Faint>of tag {one.tag}</Faint>
          {losesDigits(one.value) && <Faint>, to the 15 digits that a browser keeps</Faint>}
        </li>
      ))}
    </Rows>
  );
}
