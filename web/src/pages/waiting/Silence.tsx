import { Select, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, titled } from "../../api/client";
import { Act } from "../../ui/act";
import { Stack } from "../../ui/layout";
import { Command, Text, To } from "../../ui/text";
import { isTold, silenceOf } from "../settings/telling";

const times = { "1": "an hour", "4": "four hours", "12": "twelve hours", "24": "a day", "168": "a week", "720": "30 days" };

interface Props {
  cause: string;
  tags?: string[]; // to choose from
  devices?: () => Promise<string[]>; // those that have the trouble; without it, every device that has it or gets it
  isOfAll?: boolean; // There are too many devices to name them.
}

/** Silence keeps everybody from being told of a trouble for a time. */
export function Silence({ cause, tags, devices, isOfAll }: Props) {
  const client = useQueryClient();
  const [hours, setHours] = useState("4");
  const [tag, setTag] = useState<string | null>(null);
  const [reason, setReason] = useState("");
  if (!isTold(cause)) return null;
  return (
    <Act
      needs="operator"
      size="compact-xs"
      says="Nobody is told of it for that time"
      run={async (title) => {
        const of = { cause, devices: devices ? await devices() : [], tags: tag === null ? [] : [tag] };
        const body = { ...silenceOf(of, Number(hours), new Date()), reason: reason.trim() };
        await ask(titled(title).POST("/api/v1/silences", { body }));
        void client.invalidateQueries();
      }}
      confirm={{
        title: "Tell nobody of this for a time?",
        verb: "Silence",
        body: (
          <Stack>
            <Text>
              It stays on this page, and no messages are sent about it. <To href="/settings?tab=notifications">All silences</To>
            </Text>
            {isOfAll && (
              <Text>
                A silence names at most 100 devices, and more have this trouble: this one is for every device of the fleet that
                has it or gets it. <Command text="muster silence add --help" /> says how to make one for a tag.
              </Text>
            )}
            {tags && (
              <Select
                label="Of devices with the tag"
                placeholder="all devices that have this trouble or get it"
                clearable
                data={tags}
                value={tag}
                onChange={setTag}
              />
            )}
            <Select
              label="For"
              allowDeselect={false}
              data={Object.entries(times).map(([value, label]) => ({ value, label }))}
              value={hours}
              onChange={(to) => setHours(to ?? "4")}
            />
            <TextInput label="Why" maxLength={500} value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
          </Stack>
        ),
      }}
    >
      Silence…
    </Act>
  );
}
