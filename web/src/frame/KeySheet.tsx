import { Modal } from "@mantine/core";
import { Fragment } from "react";
import { capsOf, keys } from "../ui/keys";
import { Stack } from "../ui/layout";
import type { Place } from "./places";

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

const parts: { title: string; keys: Record<string, string> }[] = [
  { title: "Everywhere", keys: keys.page },
  { title: "In the search", keys: keys.palette },
  { title: "In a table, once it has the focus", keys: keys.table },
];

/** KeySheet shows every key, from the tables that the handlers use. */
export function KeySheet({ opened, places, onClose }: { opened: boolean; places: Place[]; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keys" size="xl">
      <div className="u-sheet">
        {parts.map((part) => (
          <Part key={part.title} title={part.title} lines={Object.entries(part.keys).map(([key, does]) => [capsOf(key, isMac), does])} />
        ))}
        <Part title="To a page" lines={places.map(({ key, name }) => [["g", key], name])} />
      </div>
    </Modal>
  );
}

function Part({ title, lines }: { title: string; lines: [caps: string[], does: string][] }) {
  return (
    <Stack tight>
      <h3 className="u-strong">{title}</h3>
      <dl className="u-facts">
        {lines.map(([caps, does]) => (
          <Fragment key={does}>
            <dt>
              {caps.map((cap) => (
                <kbd key={cap} className="u-kbd">
                  {cap}
                </kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </Fragment>
        ))}
      </dl>
    </Stack>
  );
}
