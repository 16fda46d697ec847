import { Button, Textarea } from "@mantine/core";
import { useState } from "react";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { DraftNotes } from "../../ui/draftnotes";
import { useFormDraft } from "../../ui/formdraft";
import { Row, Stack } from "../../ui/layout";
import { Faint } from "../../ui/text";
import { TitleField } from "../../ui/title";

const linesOf = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);
const sameLines = (text: string) => linesOf(text).join("\n");

/** FolderRoots edits directories below which authors put folders; keep names the draft of it. */
export function FolderRoots({
  roots,
  keep,
  about,
  store,
}: {
  roots: string[];
  keep: string;
  about: string;
  store: (roots: string[], title: string) => Promise<unknown>;
}) {
  const isAdmin = useMay("admin");
  const form = useFormDraft(roots.join("\n"), "", sameLines, { keep });
  const [title, setTitle] = useState("");
  return (
    <Stack>
      <DraftNotes form={form} what="these directories" />
      <Textarea
        size="xs"
        label="One directory on each line"
        description={about}
        autosize
        minRows={2}
        readOnly={!isAdmin}
        value={form.draft}
        onChange={(event) => form.setDraft(event.currentTarget.value)}
      />
      {form.dirty && isAdmin && <TitleField value={title} onChange={setTitle} />}
      <Row>
        <Act
          needs="admin"
          disabled={!form.dirty}
          why="Nothing was changed."
          says="Saved"
          undo={() => store(roots, "")}
          run={async () => {
            await store(linesOf(form.draft), title);
            form.saved();
            setTitle("");
          }}
        >
          Save
        </Act>
        {form.dirty && (
          <Button variant="subtle" color="gray" onClick={form.discard}>
            Discard
          </Button>
        )}
        {!isAdmin && <Faint>Only an administrator changes these.</Faint>}
      </Row>
    </Stack>
  );
}
