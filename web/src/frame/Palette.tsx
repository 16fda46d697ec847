import { Modal, TextInput } from "@mantine/core";
import { IconDeviceLaptop, IconFolder, IconSearch, IconTag, IconTemplate } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import { inventory } from "../api/inventory";
import { queries } from "../api/queries";
import { useMay, useMe } from "../session/me";
import { shortID } from "../ui/format";
import { press } from "../ui/keys";
import { matches, typedEarly } from "../ui/search";
import { actionsFor, type Action, type Does } from "./actions";
import { places } from "./places";
import { undoable } from "./undoable";

const most = 12; // entries
const mostActions = 8; // of them, beside what is found by name

/** Palette goes to any page, device, template, tag or folder by name, and does what a text names. */
export function Palette({
  opened,
  onClose,
  go,
}: {
  opened: boolean;
  onClose: () => void;
  go: (does: Does) => void;
}) {
  const { role } = useMe();
  const isAdmin = useMay("admin");
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
  const users = useQuery({ ...queries.users(), enabled: opened && isAdmin });
  const rollouts = useQuery({ ...queries.rollouts(), enabled: opened });
  const mode = useQuery({ ...queries.configurator(), enabled: opened });

  const all: Action[] = [
    ...places.map((place) => ({ does: { to: place.href }, name: place.name, detail: "Page", icon: place.icon })),
    ...(devices.data?.devices ?? []).map((one) => ({
      does: { to: `/devices/${one.deviceID}` },
      name: one.label || shortID(one.deviceID),
      detail: shortID(one.deviceID),
      icon: IconDeviceLaptop,
    })),
    ...(templates.data ?? []).map((one) => ({
      does: { to: `/templates/${one.id}` },
      name: one.label || `Template ${one.id}`,
      detail: one.key,
      icon: IconTemplate,
    })),
    ...(tags.data ?? []).map((tag) => ({
      does: { to: `/tags/${encodeURIComponent(tag)}` },
      name: tag,
      detail: "Tag",
      icon: IconTag,
    })),
    ...(folders.data ?? []).map((one) => ({
      does: { to: `/folders/${encodeURIComponent(one.folder)}` },
      name: one.label || one.folder,
      detail: one.folder,
      icon: IconFolder,
    })),
  ];
  const found: Action[] = [];
  for (const one of all) {
    if (found.length >= most) break;
    if (matches(text, [one.name, one.detail])) found.push(one);
  }
  const known = {
    role,
    devices: devices.data?.devices ?? [],
    users: (users.data ?? []).filter((one) => !one.signOn && !one.disabledAt).map(({ name }) => name),
    rollout: undoable(rollouts.data ?? []),
    mode: mode.data?.mode,
  };
  const actions = actionsFor(text, known, mostActions);
  const isLoading = [devices, templates, folders, tags, rollouts, mode].some((query) => query.isLoading);
  const manual = isLoading ? [] : actions.slice(-1); // Enter must not open the manual because the rest is not read yet.
  const acts = actions.slice(0, -1);
  found.splice(Math.max(0, most - acts.length), found.length); // Acts have room beside what is found.
  found.push(...acts, ...manual);
  const current = Math.min(at, found.length - 1);

  const close = () => {
    setText("");
    setAt(0);
    onClose();
  };
  const choose = (one: Action | undefined) => {
    if (!one) return;
    close();
    go(one.does);
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
        placeholder="Go to a page, device, template, tag or folder, or do something: rescan laptop"
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
        onKeyDown={(event) =>
          press(
            "palette",
            {
              ArrowDown: () => setAt(Math.min(current + 1, found.length - 1)),
              ArrowUp: () => setAt(Math.max(current - 1, 0)),
              Enter: () => choose(found[current]),
            },
            event,
          )
        }
      />
      <ul className="u-palette-list" role="listbox" id={id} aria-label="Found">
        {found.map((one, i) => (
          <li
            key={`${one.name} ${"to" in one.does ? one.does.to : one.detail}`}
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
        {found.length === 0 && <li className="u-muted">{isLoading ? "Reading…" : "Nothing is called so."}</li>}
      </ul>
    </Modal>
  );
}
