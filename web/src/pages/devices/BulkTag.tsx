import { Autocomplete, Modal } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { InventoryDevice } from "../../api/inventory";
import { queries } from "../../api/queries";
import { plural } from "../../ui/format";
import { Stack } from "../../ui/layout";
import { Faint } from "../../ui/text";
import { Planned } from "../whatif/Planned";

/** BulkTag puts a tag on many devices, or takes it off them, in one change. It shows first what that does. */
export function BulkTag({
  devices,
  removes,
  onClose,
}: {
  devices: InventoryDevice[];
  removes: boolean;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [typed, setTag] = useState("");
  const [late] = useDebouncedValue(typed, 400);
  const tags = useQuery(queries.tags());
  const tag = typed === late ? late.trim() : "";
  const concerned = devices.filter((device) => device.tags.includes(tag) === removes);
  const changed = concerned.map(({ deviceID }) => ({ tag, device: deviceID }));
  const known = removes ? [...new Set(devices.flatMap((device) => device.tags))].sort() : (tags.data ?? []);
  return (
    <Modal opened onClose={onClose} size="lg" title={removes ? "Remove a tag" : "Add a tag"}>
      <Stack>
        <Autocomplete
          label={`Tag ${removes ? "to take off" : "to put on"} ${plural(devices.length, "device")}`}
          size="xs"
          data={known}
          value={typed}
          onChange={setTag}
          data-autofocus
          maxLength={128}
        />
        {tag !== "" && concerned.length === 0 && (
          <Faint>{removes ? "None of these devices has this tag." : "All of these devices have this tag already."}</Faint>
        )}
        {tag !== "" && concerned.length > 0 && (
          <Planned
            key={tag}
            body={{ tags: removes ? { removed: changed } : { added: changed } }}
            onDiscard={onClose}
            onDone={() => {
              void client.invalidateQueries();
              onClose();
            }}
          />
        )}
      </Stack>
    </Modal>
  );
}
