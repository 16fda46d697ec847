import { Button, Menu } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useState } from "react";
import { failed } from "./act";
import { csvOf, type Exported } from "./csv";

type Rows = readonly Exported[];

/** Export saves rows of a table in a file; says which. rows reads those that the page does not have. */
export function Export({
  name,
  rows,
  says = "All rows that the filters pick",
}: {
  name: string;
  rows: () => Rows | Promise<Rows>;
  says?: string;
}) {
  const [busy, setBusy] = useState(false);
  const save = async (ending: "csv" | "json") => {
    setBusy(true);
    try {
      const all = await rows();
      if (ending === "json") download(`${name}.json`, "application/json", `${JSON.stringify(all, null, 2)}\n`);
      else download(`${name}.csv`, "text/csv;charset=utf-8", `\ufeff${csvOf(all)}`); // the mark tells spreadsheets that it is UTF-8
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" loading={busy} leftSection={<IconDownload size={14} aria-hidden />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{says}</Menu.Label>
        <Menu.Item onClick={() => void save("csv")}>CSV, for spreadsheets</Menu.Item>
        <Menu.Item onClick={() => void save("json")}>JSON, for programs</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function download(name: string, type: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it after the click
}
