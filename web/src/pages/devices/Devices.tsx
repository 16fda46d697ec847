import { Button, Menu, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconColumns3, IconDeviceLaptop, IconFilter, IconPlus, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useState, type ReactNode } from "react";
import { useLocation, useSearchParams } from "wouter";
import { inventory, type InventoryDevice } from "../../api/inventory";
import { useMay } from "../../session/me";
import { Act } from "../../ui/act";
import { Export } from "../../ui/export";
import { SearchField, Switch } from "../../ui/field";
import { Filters } from "../../ui/filters";
import { FolderState } from "../../ui/folderstate";
import { folderStates, tally, worstFolder } from "../../ui/folderwords";
import { count, plural, shortID, size } from "../../ui/format";
import { Panel } from "../../ui/layout";
import { Loads, Nothing, Page } from "../../ui/page";
import { configurations, connections, badgeOf, State } from "../../ui/state";
import { Ago, CellChip, CellLink, CellRest, Faint, Muted, ShortID } from "../../ui/text";
import { VirtualTable, type VColumn } from "../../ui/vtable";
import { AddDevices } from "./AddDevices";
import { Bulk } from "./Bulk";
import { Differences } from "./Differences";
import { Progress } from "../orders/Progress";
import { titles } from "../waiting/waiting";
import { counted, isFiltered, readFilter, writeFilter, type Filter } from "./filter";
import { noneOutdated, OlderThan, withOutdated } from "./Outdated";
import { useSteadyRows } from "./steady";
import { versionWords } from "./version";

const idOf = (row: InventoryDevice) => row.deviceID;
const nameOf = (row: InventoryDevice) => row.label || shortID(row.deviceID);

const mostNarrow = 4; // columns that a narrow screen has room for

const columns: VColumn<InventoryDevice>[] = [
  {
    id: "label",
    title: "Device",
    min: 200,
    grow: 2,
    sorts: true,
    cell: (row) => (
      <>
        <CellLink href={`/devices/${row.deviceID}`}>{nameOf(row)}</CellLink>
        <ShortID id={row.deviceID} />
      </>
    ),
  },
  {
    id: "connection",
    title: "Connection",
    min: 136,
    grow: 1,
    sorts: true,
    cell: (row) => <State badges={connections} state={row.connection} hint={row.connection === "online" ? "" : row.reason} />,
  },
  {
    id: "configuration",
    title: "Configuration",
    min: 120,
    grow: 1,
    sorts: true,
    cell: (row) => <State badges={configurations} state={row.configuration} hint={row.reason} />,
  },
  {
    id: "folders",
    title: "Folders",
    min: 116,
    grow: 1,
    sorts: true,
    cell: (row) => <FolderCount row={row} />,
  },
  {
    id: "need",
    title: "To go",
    min: 88,
    right: true,
    sorts: true,
    cell: (row) => <Need row={row} />,
  },
  {
    id: "tags",
    title: "Tags",
    min: 175,
    grow: 1.4,
    cell: (row) => (
      <>
        {row.tags.slice(0, 2).map((tag) => (
          <CellChip key={tag}>{tag}</CellChip>
        ))}
        {row.tags.length > 2 && <CellRest names={row.tags.slice(2)} />}
      </>
    ),
  },
  { id: "version", title: "Version", min: 150, sorts: true },
  { id: "os", title: "System", min: 110, sorts: true, text: (row) => [row.os, row.arch].join(" ") },
  {
    id: "disk",
    title: "Disk free",
    min: 88,
    right: true,
    sorts: true,
    cell: ({ diskFree }) => (diskFree === null ? <Muted>not known</Muted> : `${diskFree} %`),
  },
  { id: "since", title: "Since", min: 96, sorts: true, cell: (row) => <Ago at={row.since} /> },
  { id: "lastSeen", title: "Last seen", min: 110, sorts: true, cell: (row) => <Ago at={row.lastSeen} /> },
  {
    id: "address",
    title: "Address",
    min: 170,
    text: (row) => (row.address ? `${row.address} (${row.foundBy})` : "none"),
  },
];

const usual = ["label", "connection", "configuration", "folders", "need", "tags", "version", "disk", "since"];

/** FolderCount is the worst state of the device's folders; how many of them are in which state shows on hover. */
function FolderCount({ row: { folders } }: { row: InventoryDevice }) {
  const worst = worstFolder(folders);
  if (worst === undefined) return <Muted>none</Muted>;
  return <FolderState state={worst} why={tally(folders)} />;
}

/** Need is what the device lacks. Figures that are not of now are of a quiet colour, and zero is said of now alone. */
function Need({ row: { connection, needBytes, needUnknown } }: { row: InventoryDevice }) {
  const lack = needBytes > 0 ? size(needBytes) : "0";
  if (connection === "online" && needUnknown === 0) return needBytes > 0 ? lack : <Muted>{lack}</Muted>;
  if (needBytes === 0) return <Muted>not known</Muted>;
  return (
    <span className="u-muted" title={connection === "online" ? `Not known of ${plural(needUnknown, "folder")}` : undefined}>
      {`${lack} as last told`}
    </span>
  );
}

/** Devices is the whole fleet in one table. Search and filters are in the address, so that they can be sent to others. */
export function Devices() {
  const [, navigate] = useLocation();
  const [params, setParams] = useSearchParams();
  const filter = useMemo(() => readFilter(params), [params]);
  const fleet = useQuery(inventory());
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [own, setOwn] = useLocalStorage({ key: "muster.devices.columns", defaultValue: usual });
  const shown = filter.columns.length > 0 ? filter.columns : own;
  const adding = params.has("add");
  const setAdding = (to: boolean) => {
    const next = writeFilter(filter);
    if (to) next.set("add", "1");
    setParams(next, { replace: true });
  };
  const mayAdd = useMay("admin");

  const change = (next: Partial<Filter>) => setParams(writeFilter({ ...filter, ...next }), { replace: true });
  const setShown = (ids: string[]) => {
    setOwn(ids);
    change({ columns: ids });
  };
  const data = fleet.data?.devices;
  const late = useDeferredValue(filter);
  const [isOver, setIsOver] = useState(false);
  const outdated = fleet.data?.outdated ?? noneOutdated;
  const outdatedVersions = useMemo(() => new Set(outdated.versions), [outdated]);
  const rows = useSteadyRows(data, late, isOver && !filter.differences, outdatedVersions);
  // Rows stay chosen while one searches for the next one, and the line above the table says how many do not show.
  const isChosen = (row: InventoryDevice) => selected.has(row.deviceID);
  const chosen = (data ?? []).filter(isChosen);
  const chosenRows = rows.filter(isChosen);

  const shownColumns = useMemo(
    () => withOutdated(columns, outdated).filter(({ id }) => id === "label" || shown.includes(id)),
    [outdated, shown],
  );
  const onNarrow = useMemo(() => shownColumns.slice(0, mostNarrow).map(({ id }) => id), [shownColumns]);
  const sortBy = (by: string) => change({ sort: by, descending: filter.sort === by ? !filter.descending : false });

  return (
    <Page
      wide
      title="Devices"
      updatedAt={fleet.dataUpdatedAt}
      sub={
        data && (
          <span>
            {isFiltered(filter) ? `${count(rows.length)} of ${plural(data.length, "device")}` : plural(data.length, "device")}
          </span>
        )
      }
      actions={
        <>
          <Button variant="default" onClick={() => change({ differences: !filter.differences })}>
            {filter.differences ? "Show the table" : "Show differences"}
          </Button>
          {chosen.length > 0 ? (
            <Export name="devices" rows={() => chosen} says={`Only the ${plural(chosen.length, "selected row")}`} />
          ) : (
            <Export name="devices" rows={() => rows} />
          )}
          <Act
            needs="admin"
            variant="filled"
            leftSection={<IconPlus size={14} aria-hidden />}
            run={() => Promise.resolve(setAdding(true))}
          >
            Add devices
          </Act>
        </>
      }
    >
      <Toolbar filter={filter} change={change} data={data ?? []} shown={shown} setShown={setShown} />
      <Progress />
      {chosen.length > 0 && (
        <Bulk
          devices={chosen}
          all={rows.length}
          hidden={chosen.length - chosenRows.length}
          onAll={() => setSelected(new Set([...selected, ...rows.map(idOf)]))}
          onOnlyShown={() => setSelected(new Set(chosenRows.map(idOf)))}
          onDone={() => setSelected(new Set())}
        />
      )}
      <Loads query={fleet} rows={10}>
        {(all) =>
          all.devices.length === 0 ? (
            <Panel>
              <Nothing
                icon={IconDeviceLaptop}
                title="No device yet"
                actions={
                  <Act needs="admin" variant="filled" run={() => Promise.resolve(setAdding(true))}>
                    Add the first device
                  </Act>
                }
              >
                A device is one Syncthing daemon. Muster needs its ID, its address and the API key of its GUI.
              </Nothing>
            </Panel>
          ) : filter.differences ? (
            <Differences devices={chosen.length > 0 ? chosen : rows} filter={late} />
          ) : rows.length === 0 ? (
            <Panel>
              <Nothing
                icon={IconFilter}
                title="No device matches"
                actions={
                  <Button variant="default" onClick={() => setParams(new URLSearchParams())}>
                    Show all devices
                  </Button>
                }
              >
                Nothing in the fleet fits this search and these filters.
              </Nothing>
            </Panel>
          ) : (
            <Panel flush>
              <VirtualTable
                label="Devices"
                rows={rows}
                columns={shownColumns}
                narrow={onNarrow}
                id={idOf}
                name={nameOf}
                sort={{ by: filter.sort, descending: filter.descending }}
                onSort={sortBy}
                selected={selected}
                onSelect={setSelected}
                onOver={setIsOver}
                onOpen={(row) => navigate(`/devices/${row.deviceID}`)}
              />
            </Panel>
          )
        }
      </Loads>
      <AddDevices opened={adding} onClose={() => setAdding(false)} may={mayAdd} />
    </Page>
  );
}

interface FilterMenu {
  name: string;
  of: (row: InventoryDevice) => string[];
  has: string[];
  pick: (value: string) => void;
  word?: (value: string) => string;
  before?: ReactNode; // shown before the values
}

const mostUnsearched = 10; // values of a menu without a search
const mostValues = 100; // that a menu shows

/** Values are counted when their menu opens: that reads every row. */
function Values({ menu, data }: { menu: FilterMenu; data: InventoryDevice[] }) {
  const [search, setSearch] = useState("");
  const values = counted(data, menu.of);
  const wordOf = (value: string) => menu.word?.(value) ?? value;
  const found = values.filter(([value]) => wordOf(value).toLowerCase().includes(search.trim().toLowerCase()));
  return (
    <>
      {values.length === 0 && <Menu.Label>No device has one</Menu.Label>}
      {values.length > mostUnsearched && (
        <TextInput
          size="xs"
          p={4}
          placeholder={`Search ${count(values.length)}`}
          aria-label={`Search ${menu.name}`}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          onKeyDown={(event) => event.stopPropagation()}
        />
      )}
      {values.length > 0 && found.length === 0 && <Menu.Label>Nothing matches</Menu.Label>}
      {found.slice(0, mostValues).map(([value, n]) => (
        <Menu.CheckboxItem
          key={value}
          checked={menu.has.includes(value)}
          rightSection={<Faint>{count(n)}</Faint>}
          onChange={() => menu.pick(value)}
        >
          {wordOf(value).slice(0, 60)}
        </Menu.CheckboxItem>
      ))}
      {found.length > mostValues && <Menu.Label>{`and ${count(found.length - mostValues)} more`}</Menu.Label>}
    </>
  );
}

function Toolbar({
  filter,
  change,
  data,
  shown,
  setShown,
}: {
  filter: Filter;
  change: (next: Partial<Filter>) => void;
  data: InventoryDevice[];
  shown: string[];
  setShown: (shown: string[]) => void;
}) {
  const toggled = (list: string[], value: string) =>
    list.includes(value) ? list.filter((one) => one !== value) : [...list, value];
  const chosen: { text: string; remove: () => void }[] = [
    ...filter.tags.map((tag) => ({ text: `Tag ${tag}`, remove: () => change({ tags: toggled(filter.tags, tag) }) })),
    ...filter.states.map((state) => ({
      text: badgeOf({ ...connections, ...configurations }, state).word,
      remove: () => change({ states: toggled(filter.states, state) }),
    })),
    ...filter.versions.map((one) => ({ text: versionWords(one), remove: () => change({ versions: toggled(filter.versions, one) }) })),
    ...filter.systems.map((one) => ({ text: one, remove: () => change({ systems: toggled(filter.systems, one) }) })),
    ...filter.folderStates.map((state) => ({
      text: `Folders: ${badgeOf(folderStates, state).word.toLowerCase()}`,
      remove: () => change({ folderStates: toggled(filter.folderStates, state) }),
    })),
    ...(filter.waiting && filter.waiting !== "any"
      ? [{ text: titles[filter.waiting] ?? filter.waiting, remove: () => change({ waiting: "" }) }]
      : []),
    ...(filter.staleDays && filter.staleDays !== week
      ? [{ text: `Not seen for ${plural(filter.staleDays, "day")}`, remove: () => change({ staleDays: 0 }) }]
      : []),
  ];
  const menus: FilterMenu[] = [
    {
      name: "State",
      of: (row) => [row.configuration, ...(row.connection === "online" ? [] : [row.connection])],
      has: filter.states,
      pick: (value) => change({ states: toggled(filter.states, value) }),
      word: (value) => badgeOf({ ...connections, ...configurations }, value).word,
    },
    {
      name: "Folders",
      of: (row) => Object.keys(folderStates).filter((state) => (row.folders[state] ?? 0) > 0),
      has: filter.folderStates,
      pick: (value) => change({ folderStates: toggled(filter.folderStates, value) }),
      word: (value) => badgeOf(folderStates, value).word,
    },
    {
      name: "Tag",
      of: (row) => row.tags,
      has: filter.tags,
      pick: (value) => change({ tags: toggled(filter.tags, value) }),
    },
    {
      name: "Version",
      of: (row) => (row.version ? [row.version] : []),
      has: filter.versions,
      pick: (value) => change({ versions: toggled(filter.versions, value) }),
      before: <OlderThan pick={(version) => change({ versions: [`<${version}`] })} />,
    },
    {
      name: "System",
      of: (row) => (row.os ? [row.os] : []),
      has: filter.systems,
      pick: (value) => change({ systems: toggled(filter.systems, value) }),
    },
  ];
  return (
    <SearchField
      label="Search devices"
      hint="Search by label, ID, address or tag"
      value={filter.q}
      onChange={(q) => change({ q })}
    >
      {menus.map((menu) => (
        <Menu key={menu.name} closeOnItemClick={false} position="bottom-start" width={230}>
          <Menu.Target>
            <Button variant={menu.has.length > 0 ? "light" : "default"}>
              {menu.name}
              {menu.has.length > 0 && ` · ${menu.has.length}`}
            </Button>
          </Menu.Target>
          <Menu.Dropdown mah={340} style={{ overflow: "auto" }}>
            {menu.before}
            <Values menu={menu} data={data} />
          </Menu.Dropdown>
        </Menu>
      ))}
      <Switch on={filter.waiting === "any"} flip={() => change({ waiting: filter.waiting === "any" ? "" : "any" })}>
        Waits for a person
      </Switch>
      <Switch on={filter.notInOrder} flip={() => change({ notInOrder: !filter.notInOrder })}>
        Not in order
      </Switch>
      <Switch on={filter.staleDays === week} flip={() => change({ staleDays: filter.staleDays === week ? 0 : week })}>
        Not seen for a week
      </Switch>
      <Switch on={filter.outdated} flip={() => change({ outdated: !filter.outdated })}>
        Outdated
      </Switch>
      <Filters page="devices" />
      <Menu closeOnItemClick={false} position="bottom-end">
        <Menu.Target>
          <Button variant="subtle" color="gray" aria-label="Columns" px={6}>
            <IconColumns3 size={16} aria-hidden />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {columns.slice(1).map((column) => (
            <Menu.CheckboxItem
              key={column.id}
              checked={shown.includes(column.id)}
              onChange={() => setShown(toggled(shown, column.id))}
            >
              {column.title}
            </Menu.CheckboxItem>
          ))}
        </Menu.Dropdown>
      </Menu>
      {chosen.map((one) => (
        <span key={one.text} className="u-chip">
          <span>{one.text}</span>
          <button type="button" aria-label={`Remove the filter ${one.text}`} onClick={one.remove}>
            <IconX size={12} aria-hidden />
          </button>
        </span>
      ))}
    </SearchField>
  );
}

const week = 7; // days
