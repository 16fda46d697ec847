import { Autocomplete, Button, Modal } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { InventoryDevice } from "../../api/inventory";
import { queries } from "../../api/queries";
import { whatIf } from "../../api/whatif";
import { Act } from "../../ui/act";
import { plural } from "../../ui/format";
import { Row, Stack } from "../../ui/layout";
import { Ghosts, Wrong } from "../../ui/page";
import { Faint } from "../../ui/text";
import { TitleField } from "../../ui/title";
import { Effect } from "../whatif/Effect";

const mostPlanned = 500; // devices of one question

/** BulkTag puts a tag on many devices, or takes it off them. It shows first what that changes. */
export function BulkTag({
  devices,
  removes,
  run,
  onClose,
}: {
  devices: InventoryDevice[];
  removes: boolean;
  run: (tag: string, title: string) => void;
  onClose: () => void;
}) {
  const [tag, setTag] = useState("");
  const [title, setTitle] = useState("");
  const [late] = useDebouncedValue(tag.trim(), 400);
  const tags = useQuery(queries.tags());
  const concerned = devices.filter((device) => device.tags.includes(tag.trim()) === removes);
  const asked = devices
    .filter((device) => device.tags.includes(late) === removes)
    .slice(0, mostPlanned)
    .map((device) => ({ tag: late, device: device.deviceID }));
  const effect = useQuery({
    ...whatIf({ tags: removes ? { removed: asked } : { added: asked } }),
    enabled: late !== "" && asked.length > 0,
  });
  const known = removes ? [...new Set(devices.flatMap((device) => device.tags))].sort() : (tags.data ?? []);
  return (
    <Modal opened onClose={onClose} size="lg" title={removes ? "Remove a tag" : "Add a tag"}>
      <Stack>
        <Autocomplete
          label={`Tag ${removes ? "to take off" : "to put on"} ${plural(devices.length, "device")}`}
          size="xs"
          data={known}
          value={tag}
          onChange={setTag}
          data-autofocus
          maxLength={128}
        />
        {late !== "" && asked.length === 0 && (
          <Faint>{removes ? "None of these devices has this tag." : "All of these devices have this tag already."}</Faint>
        )}
        {late !== "" && asked.length > 0 && (
          <>
            {effect.error && <Wrong error={effect.error} />}
            {effect.isFetching && <Ghosts rows={2} />}
            {effect.data && !effect.isFetching && <Effect plan={effect.data} />}
          </>
        )}
        <TitleField value={title} onChange={setTitle} />
        <Row end>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Act
            needs="operator"
            variant="filled"
            disabled={tag.trim() === "" || concerned.length === 0}
            why="Name a tag that would change something."
            run={() => {
              onClose();
              run(tag.trim(), title);
              return Promise.resolve();
            }}
          >
            {removes ? "Remove" : "Add"}
          </Act>
        </Row>
      </Stack>
    </Modal>
  );
}
