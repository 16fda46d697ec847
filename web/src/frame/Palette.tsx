import { Modal, TextInput } from "@mantine/core";
import { IconDeviceLaptop, IconFolder, IconSearch, IconTag, IconTemplate, type Icon } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { inventory } from "../api/inventory";
import { queries } from "../api/queries";
import { places } from "./places";
import { shortID } from "../ui/format";
import { matches, typedEarly } from "../ui/search";

interface Found {
  href: string;
  name: string;
  detail: string;
  icon: Icon;
}

const most = 12;

/** Palette goes to any page, device, template, tag or folder by name. */
export function Palette({
  opened,
  onClose,
  go,
}: {
  opened: boolean;
  onClose: () => void;
  go: (href: string) => void;
}) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!opened) return;
    // The dialog opens over some frames, and has the focus after them.
    const keep = (event: globalThis.KeyboardEvent) => {
      if (document.activeElement === field.current || typedEarly("", event) === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      setText((before) => typedEarly(before, event) ?? before);
      setAt(0);
      field.current?.focus();
    };
    window.addEventListener("keydown", keep, { capture: true });
    return () => window.removeEventListener("keydown", keep, { capture: true });
  }, [opened]);
  const devices = useQuery({ ...inventory(), enabled: opened });
  const templates = useQuery({ ...queries.templates(), enabled: opened });
  const folders = useQuery({ ...queries.folders(), enabled: opened });

  const tags = useQuery({ ...queries.tags(), enabled: opened });

  const all: Found[] = [
    ...places.map((place) => ({ href: place.href, name: place.name, detail: "Page", icon: place.icon })),
    ...(devices.data?.devices ?? []).map((one) => ({
      href: `/devices/${one.deviceID}`,
      name: one.label || shortID(one.deviceID),
      detail: shortID(one.deviceID),
      icon: IconDeviceLaptop,
    })),
    ...(templates.data ?? []).map((one) => ({
      href: `/templates/${one.id}`,
      name: one.label || `Template ${one.id}`,
      detail: one.key,
      icon: IconTemplate,
    })),
    ...(tags.data ?? []).map((tag) => ({
      href: `/tags/${encodeURIComponent(tag)}`,
      name: tag,
      detail: "Tag",
      icon: IconTag,
    })),
    ...(folders.data ?? []).map((one) => ({
      href: `/folders/${encodeURIComponent(one.folder)}`,
      name: one.label || one.folder,
      detail: one.folder,
      icon: IconFolder,
    })),
  ];
  const found: Found[] = [];
  for (const one of all) {
    if (found.length >= most) break;
    if (matches(text, [one.name, one.detail])) found.push(one);
  }
  const current = Math.min(at, found.length - 1);

  const close = () => {
    setText("");
    setAt(0);
    onClose();
  };
  const choose = (one: Found | undefined) => {
    if (!one) return;
    close();
    go(one.href);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(current + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(current - 1, 0));
    else if (event.key === "Enter") choose(found[current]);
    else return;
    event.preventDefault();
  };

  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      size="lg"
      yOffset="12vh"
      attributes={{ content: { "aria-label": "Search" } }}
    >
      <TextInput
        ref={field}
        data-autofocus
        size="sm"
        placeholder="Go to a page, device, template, tag or folder"
        aria-label="Search"
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${current}` : undefined}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onFocus={({ currentTarget: { value } }) => field.current?.setSelectionRange(value.length, value.length)}
        onKeyDown={press}
      />
      <ul className="u-palette-list" role="listbox" id={id} aria-label="Found">
        {found.map((one, i) => (
          <li
            key={one.href}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === current}
            onMouseMove={() => setAt(i)}
            onClick={() => choose(one)}
          >
            <one.icon size={16} aria-hidden />
            <span className="u-clip u-grow">{one.name}</span>
            <span className="u-faint">{one.detail.slice(0, 40)}</span>
          </li>
        ))}
        {found.length === 0 && <li className="u-muted">Nothing is called so.</li>}
      </ul>
    </Modal>
  );
}
