import { Button, TagsInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../../api/queries";
import { Act } from "../../ui/act";
import { Row, Stack } from "../../ui/layout";
import { Chip, Muted, Text } from "../../ui/text";

/** hasPart reports whether somebody with a role may be limited to a part of the fleet. */
export const hasPart = (role: string) => role === "viewer" || role === "operator";

/** PartInput picks the tags of the devices that a person or token is limited to. */
export function PartInput({ role, tags, onChange }: { role: string; tags: string[]; onChange: (tags: string[]) => void }) {
  const known = useQuery(queries.tags());
  return (
    <TagsInput
      size="xs"
      label="Part of the fleet"
      placeholder={tags.length === 0 ? (hasPart(role) ? "all of it" : "all of it, by the role") : ""}
      w={220}
      disabled={!hasPart(role)}
      data={known.data ?? []}
      value={hasPart(role) ? tags : []}
      onChange={onChange}
    />
  );
}

/** PartOfFleet shows the part of the fleet that a person sees, and changes it. */
export function PartOfFleet({
  name,
  role,
  tags,
  fixed,
  store,
}: {
  name: string;
  role: string;
  tags: string[];
  fixed: boolean; // it is decided elsewhere
  store: (tags: string[], title: string) => Promise<unknown>;
}) {
  const [chosen, setChosen] = useState<string[]>();
  if (chosen === undefined) {
    return (
      <Row>
        {tags.length === 0 ? <Muted>all of it</Muted> : tags.map((tag) => <Chip key={tag}>{tag}</Chip>)}
        {hasPart(role) && !fixed && (
          <Button
            variant="subtle"
            color="gray"
            size="compact-xs"
            aria-label={`Change the part of the fleet of ${name}`}
            onClick={() => setChosen(tags)}
          >
            Change
          </Button>
        )}
      </Row>
    );
  }
  const whole = chosen.length === 0 && tags.length > 0;
  return (
    <Stack tight>
      <PartInput role={role} tags={chosen} onChange={setChosen} />
      <Row>
        <Act
          needs="admin"
          size="compact-xs"
          variant="filled"
          disabled={chosen.join("\n") === tags.join("\n")}
          why="Nothing was changed."
          says={`The part of ${name} is saved`}
          undo={() => store(tags, "")}
          run={async (title) => {
            await store(chosen, title);
            setChosen(undefined);
          }}
          {...(whole && {
            confirm: {
              title: `Give ${name} the whole fleet?`,
              verb: "Give it",
              body: <Text>Without a tag {name} sees every device, and as an operator changes every one.</Text>,
            },
          })}
        >
          Save
        </Act>
        <Button variant="subtle" color="gray" size="compact-xs" onClick={() => setChosen(undefined)}>
          Cancel
        </Button>
      </Row>
    </Stack>
  );
}
