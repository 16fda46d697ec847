import { Button, Group, Menu, Modal, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconBookmark, IconLink, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { useMe } from "../session/me";
import { done, failed } from "./act";
import { Stack } from "./layout";
import { readSaved, whyNot, withSaved, type SavedFilter } from "./savedfilters";
import { Muted } from "./text";

/**
 * Filters keeps what a page filters and sorts by, under a name, and copies the address that shows the same to others.
 * Each person has their own in this browser.
 */
export function Filters({ page }: { page: string }) {
  const me = useMe();
  const [params, setParams] = useSearchParams();
  const [all, setAll] = useLocalStorage<SavedFilter[]>({
    key: `muster.filters.${me.name}.${page}`,
    defaultValue: [],
    deserialize: (text) => readSaved(text ?? null),
    getInitialValueInEffect: false,
  });
  const [naming, setNaming] = useState(false);
  const address = params.toString();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      done("The address is copied: it shows others the same filter");
    } catch {
      failed(new Error("the browser does not let the page copy: take the address from its address bar"));
    }
  };
  return (
    <>
      <Menu position="bottom-start" width={260}>
        <Menu.Target>
          <Button variant="default" leftSection={<IconBookmark size={14} aria-hidden />}>
            Kept filters
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={340} style={{ overflow: "auto" }}>
          {all.length === 0 && <Menu.Label>None is kept yet</Menu.Label>}
          {all.map((one) => (
            <Menu.Item key={one.name} onClick={() => setParams(new URLSearchParams(one.address))}>
              {one.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<IconBookmark size={14} aria-hidden />} onClick={() => setNaming(true)}>
            Keep this filter…
          </Menu.Item>
          <Menu.Item leftSection={<IconLink size={14} aria-hidden />} onClick={() => void copy()}>
            Copy its address
          </Menu.Item>
          {all.map((one) => (
            <Menu.Item
              key={one.name}
              color="red"
              leftSection={<IconTrash size={14} aria-hidden />}
              onClick={() => setAll(all.filter(({ name }) => name !== one.name))}
            >
              {`Delete ${one.name}`}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Modal opened={naming} onClose={() => setNaming(false)} title="Keep this filter">
        <Naming
          all={all}
          address={address}
          keep={(one) => {
            setAll(withSaved(all, one));
            setNaming(false);
          }}
        />
      </Modal>
    </>
  );
}

function Naming({ all, address, keep }: { all: SavedFilter[]; address: string; keep: (one: SavedFilter) => void }) {
  const [name, setName] = useState("");
  const one = { name: name.trim(), address };
  const reason = whyNot(all, one);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === "") keep(one);
      }}
    >
      <Stack>
        <TextInput
          data-autofocus
          label="Name"
          value={name}
          error={name !== "" && reason}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        <Muted>It is kept in this browser, for you. Copy its address to show it to others.</Muted>
        <Group justify="flex-end">
          <Button type="submit" disabled={reason !== ""}>
            Keep
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
