import { TextInput } from "@mantine/core";
import { useState } from "react";
import type { Inventory, InventoryDevice } from "../../api/inventory";
import { Muted } from "../../ui/text";
import type { VColumn } from "../../ui/vtable";

type Outdated = Inventory["outdated"];

export const noneOutdated: Outdated = { newest: "", newestCandidate: "", versions: [] };

/** newestWords names the newest version that devices run. */
function newestWords({ newest, newestCandidate }: Outdated): string {
  if (newest === "" || newestCandidate === "") return newest || newestCandidate;
  return `${newest}, of candidates ${newestCandidate}`;
}

/** withOutdated are the columns of the table of devices, with a mark at versions that are outdated. */
export function withOutdated(columns: VColumn<InventoryDevice>[], outdated: Outdated): VColumn<InventoryDevice>[] {
  const versions = new Set(outdated.versions);
  const newest = newestWords(outdated);
  const cell = ({ version }: InventoryDevice) =>
    versions.has(version) ? (
      <span className="u-clip" title={`${version} is outdated. The newest that devices run is ${newest}`}>
        {version} <Muted>outdated</Muted>
      </span>
    ) : (
      <span className="u-clip" title={version}>
        {version || "not known"}
      </span>
    );
  return columns.map((column) => (column.id === "version" ? { ...column, cell } : column));
}

/** OlderThan picks the devices with a version before one that is typed. */
export function OlderThan({ pick }: { pick: (version: string) => void }) {
  const [version, setVersion] = useState("");
  const isVersion = /^v?\d+(\.\d+)*/.test(version.trim());
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isVersion) pick(version.trim());
      }}
    >
      <TextInput
        size="xs"
        p={4}
        placeholder="Before a version, as 2.1.0"
        aria-label="Before a version"
        value={version}
        error={version.trim() !== "" && !isVersion && "Write a version such as 2.1.0."}
        onChange={(event) => setVersion(event.currentTarget.value)}
        onKeyDown={(event) => event.stopPropagation()}
      />
    </form>
  );
}
