import { Menu, useMantineColorScheme } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import {
  IconBook,
  IconDatabaseExclamation,
  IconKeyboard,
  IconLogout,
  IconMenu2,
  IconMoon,
  IconPlugConnectedX,
  IconSearch,
  IconSun,
  IconUser,
} from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { api, ask } from "../api/client";
import { queries } from "../api/queries";
import { useLiveState } from "../live/Live";
import { UndoDialog } from "../pages/rollouts/UndoDialog";
import { askUndo } from "../pages/rollouts/undoing";
import { ActionDialog, type Asked } from "./ActionDialog";
import type { Does } from "./actions";
import { KeySheet } from "./KeySheet";
import { Palette } from "./Palette";
import { places } from "./places";
import { half } from "../session/half";
import { useMay, useMe } from "../session/me";
import { failed } from "../ui/act";
import { count, plural, sentence } from "../ui/format";
import { hotkeysOf, type Handlers } from "../ui/keys";
import { keptDrafts } from "../ui/keptdraft";
import { Mark } from "../ui/mark";
import { Prose } from "../ui/text";

export function Frame({ children }: { children: ReactNode }) {
  const [location, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  const [searching, setSearching] = useState(false);
  const mayAudit = useMay("operator");
  const shown = places.filter((place) => place.href !== "/audit" || mayAudit);
  const [prefixed, setPrefixed] = useState(false); // g was pressed: the next key names a page
  const [showsKeys, setShowsKeys] = useState(false);
  const [asked, setAsked] = useState<Asked>();
  const act = (does: Does) => {
    if ("to" in does) navigate(does.to);
    else if ("manual" in does) window.location.assign(new URL(`../docs/${does.manual}`, document.baseURI));
    else if ("undo" in does) askUndo(does.undo);
    else setAsked(does);
  };
  const handlers: Handlers<"page"> = {
    "mod+K": () => setSearching(true),
    "/": () => focusSearch(() => setSearching(true)),
    "?": () => setShowsKeys(true),
    g: () => setPrefixed(true),
  };
  useHotkeys([
    ...Object.entries(handlers).flatMap(([key, handler]) =>
      hotkeysOf(key).map((hotkey): [string, () => void] => [hotkey, () => handler?.()]),
    ),
    ...shown.map((place): [string, () => void] => [
      place.key,
      () => {
        if (prefixed) navigate(place.href);
        setPrefixed(false);
      },
    ]),
  ]);
  const isHere = (href: string) => (href === "/" ? location === "/" : location.startsWith(href));
  return (
    <div className="u-frame">
      <a className="u-skip" href="#main" onClick={(event) => toMain(event)}>
        Skip to the page
      </a>
      <div className="u-top">
        <button type="button" className="u-id" aria-label="Menu" aria-expanded={open} onClick={() => setOpen(!open)}>
          <IconMenu2 size={18} aria-hidden />
        </button>
        <Mark />
        <span className="u-strong u-grow">Muster</span>
        <button type="button" className="u-id" aria-label="Search" onClick={() => setSearching(true)}>
          <IconSearch size={18} aria-hidden />
        </button>
      </div>
      <nav className="u-nav" data-open={open || undefined} aria-label="Pages" onClick={() => setOpen(false)}>
        <div className="u-brand">
          <Mark size={22} />
          Muster
        </div>
        <button type="button" className="u-nav-item" onClick={() => setSearching(true)}>
          <IconSearch size={16} aria-hidden />
          Search
          <span className="u-count">
            <kbd>Ctrl K</kbd>
          </span>
        </button>
        {shown.map((place) => (
          <Link
            key={place.href}
            href={place.href}
            className="u-nav-item"
            aria-current={isHere(place.href) ? "page" : undefined}
          >
            <place.icon size={16} aria-hidden />
            {place.name}
            {place.href === "/rollouts" && <Running />}
          </Link>
        ))}
        <div className="u-nav-end">
          <button type="button" className="u-nav-item" onClick={() => setShowsKeys(true)}>
            <IconKeyboard size={16} aria-hidden />
            Keys
            <span className="u-count">
              <kbd>?</kbd>
            </span>
          </button>
          <a className="u-nav-item" href="../docs/">
            <IconBook size={16} aria-hidden />
            Docs
          </a>
          <Person />
        </div>
      </nav>
      <div className="u-main">
        <Banners />
        {children}
      </div>
      <Palette opened={searching} onClose={() => setSearching(false)} go={act} />
      <KeySheet opened={showsKeys} places={shown} onClose={() => setShowsKeys(false)} />
      {asked && <ActionDialog asked={asked} onClose={() => setAsked(undefined)} />}
      <UndoDialog />
    </div>
  );
}

function toMain(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** focusSearch goes to the search of the page, or opens the palette where the page has none. */
function focusSearch(otherwise: () => void) {
  const field = document.querySelector<HTMLInputElement>("input[data-search]");
  if (field) field.focus();
  else otherwise();
}

function Running() {
  const overview = useQuery(queries.overview());
  const n = overview.data?.rollouts.length ?? 0;
  if (n === 0) return null;
  return (
    <span className="u-count" data-tone="wait" aria-label={plural(n, "rollout is under way", "rollouts are under way")}>
      {count(n)}
    </span>
  );
}

/** Banners say what holds for every page: the connection is lost, the database is not as Muster wrote it, or Muster does not write. */
function Banners() {
  const live = useLiveState();
  const overview = useQuery(queries.overview());
  const mode = overview.data?.mode ?? "on";
  const found = overview.data?.impairments.find(({ part }) => part === "proofs");
  return (
    <>
      {live === "lost" && (
        <div className="u-banner" data-tone="bad" role="status">
          <IconPlugConnectedX size={16} aria-hidden />
          The server does not answer. What you see may be old. The page connects again as soon as the server answers.
        </div>
      )}
      {found && (
        <div className="u-banner" data-tone="bad" role="alert">
          <IconDatabaseExclamation size={16} aria-hidden />
          <div className="u-grow">
            <Prose>{`${sentence(found.reason)} ${found.next}`}</Prose>
          </div>
          <a className="u-link" href="../docs/audit#when-the-database-is-older-than-it-was">
            What it means
          </a>
        </div>
      )}
      {mode !== "on" && (
        <div className="u-banner" role="status">
          {mode === "observe"
            ? "Observe only: Muster plans and writes to no device."
            : "Not watched: Muster neither reads nor writes to any device."}
          <Link href="/settings" className="u-link">
            Settings
          </Link>
        </div>
      )}
    </>
  );
}

function Person() {
  const me = useMe();
  const client = useQueryClient();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const leave = async () => {
    try {
      await ask(api.POST("/api/v1/logout"));
      half.forget();
      keptDrafts.forgetAll();
      client.clear();
      location.reload();
    } catch (error) {
      failed(error);
    }
  };
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <button type="button" className="u-nav-item" onClick={(event) => event.stopPropagation()}>
          <IconUser size={16} aria-hidden />
          <span className="u-clip u-grow">{me.name}</span>
          <span className="u-faint">{me.role}</span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {me.name}, {me.role}
        </Menu.Label>
        <Menu.Item
          leftSection={colorScheme === "dark" ? <IconSun size={14} aria-hidden /> : <IconMoon size={14} aria-hidden />}
          onClick={() => setColorScheme(colorScheme === "dark" ? "light" : "dark")}
        >
          {colorScheme === "dark" ? "Light" : "Dark"} colours
        </Menu.Item>
        <Menu.Item onClick={() => setColorScheme("auto")}>Colours of the system</Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={14} aria-hidden />} onClick={() => void leave()}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
