import { Button, CopyButton } from "@mantine/core";
import { IconCheck, IconCopy, IconFileSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useDeferredValue, useMemo, useRef, useState } from "react";
import { useLabels, useTemplateNames } from "../../../api/labels";
import { asProblem } from "../../../api/problem";
import { queries } from "../../../api/queries";
import { useInAddress } from "../../../ui/address";
import { Export } from "../../../ui/export";
import { SearchField, Switch } from "../../../ui/field";
import { Filters } from "../../../ui/filters";
import { count, plural, sentence, shortID } from "../../../ui/format";
import { Fact, Facts, Panel, Row, Split, Stack } from "../../../ui/layout";
import { Loads, Note, Nothing } from "../../../ui/page";
import { classes, State } from "../../../ui/state";
import { Chip, Code, Faint, Mono, Muted, Prose, To } from "../../../ui/text";
import { VirtualTree } from "../../../ui/vtree";
import { isManaged, nodeAt, picked, rowsOf, treeOf, valueOf, valuesOf, type ConfigNode, type Only } from "./configtree";
import { Explained } from "./Why";

const nothing: never[] = [];
const mostOpen = 30; // folders or devices of a list that is open at first

/** Configuration is what the daemon has now, browsed and searched; each key says where its value comes from. */
export default function Configuration({ id }: { id: string }) {
  const config = useQuery(queries.config(id));
  return (
    <Loads query={config} rows={10}>
      {(data) => <Browser id={id} config={data} />}
    </Loads>
  );
}

function Browser({ id, config }: { id: string; config: unknown }) {
  const [q, setQ] = useInAddress("q");
  const [only, setOnly] = useInAddress("only");
  const [chosen, choose] = useInAddress("key");
  const managed = useQuery(queries.managedKeys(id));
  const plan = useQuery(queries.plan(id));
  const labels = useLabels();
  const changes = plan.data?.changes ?? nothing;
  const tree = useMemo(
    () => treeOf(config, { managed: managed.data ?? nothing, changes, labels }),
    [config, managed.data, changes, labels],
  );
  const search = useDeferredValue(q);
  const nodes = useMemo(() => picked(tree, search, onlyOf(only)), [tree, search, only]);
  const values = useMemo(() => valuesOf(nodes), [nodes]);
  const total = useMemo(() => valuesOf(tree).length, [tree]);
  const details = useRef<HTMLDivElement>(null);
  const show = (node: ConfigNode) => {
    choose(node.key);
    if (node.children.length === 0 && matchMedia("(max-width: 760px)").matches) {
      details.current?.scrollIntoView({ block: "nearest" });
    }
  };
  const { rows, isOpen, toggle, setAll } = useOpen(nodes, search !== "" || only !== "", chosen);
  const waiting = changes.filter((one) => one.class !== "skipped").length;
  const failed = managed.error ?? plan.error;
  return (
    <Stack>
      {failed && <Note>It is not known where values come from: {sentence(asProblem(failed).message)}</Note>}
      <SearchField label="Search keys and values" value={q} onChange={setQ}>
        <Switch on={only === "managed"} flip={() => setOnly(only === "managed" ? "" : "managed")}>
          Managed by Muster
        </Switch>
        <Switch on={only === "waiting"} flip={() => setOnly(only === "waiting" ? "" : "waiting")}>
          A change waits
        </Switch>
        <Filters page="configuration" />
        <Button variant="default" onClick={() => setAll(true)}>
          Open all
        </Button>
        <Button variant="default" onClick={() => setAll(false)}>
          Close all
        </Button>
        <Export name={`configuration-${shortID(id)}`} rows={() => values.map(exported)} says={plural(values.length, "value")} />
        {waiting > 0 && (
          <Muted>
            <To href={`/devices/${id}/plan`}>{`${plural(waiting, "change")} in the plan`}</To>
          </Muted>
        )}
      </SearchField>
      <Split>
        <Panel flush title={values.length < total ? `${count(values.length)} of ${plural(total, "value")}` : plural(total, "value")}>
          {rows.length === 0 ? (
            <Nothing icon={IconFileSearch} title="No key matches">
              No key and no value of this configuration fits this search.
            </Nothing>
          ) : (
            <VirtualTree
              label="Configuration"
              rows={rows}
              of={(node) => ({ key: node.key, depth: node.depth, hasChildren: node.children.length > 0, isOpen: isOpen(node) })}
              cell={(node) => <Cell node={node} isOpen={isOpen(node)} />}
              chosen={chosen}
              onChoose={show}
              onToggle={toggle}
            />
          )}
        </Panel>
        <div ref={details}>
          <Details id={id} asked={chosen} node={nodeAt(tree, chosen)} labels={labels} />
        </div>
      </Split>
    </Stack>
  );
}

const onlyOf = (text: string): Only => (text === "managed" || text === "waiting" ? text : "");

const exported = ({ key, value, owner, waits }: ConfigNode) => ({
  ...{ key, value, owner: owner?.owner ?? "", templates: owner?.templates ?? [], waits: waits?.class ?? "" },
});

/** useOpen is which nodes are open: what a search finds, short lists, and what is above the chosen key. */
function useOpen(nodes: ConfigNode[], isSearch: boolean, chosen: string) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [all, setAllOpen] = useState<boolean>();
  const [before, setBefore] = useState(isSearch);
  if (before !== isSearch) {
    setBefore(isSearch);
    setToggled(new Set());
    setAllOpen(undefined);
  }
  const isOpen = useCallback(
    (node: ConfigNode) => {
      const isAbove = chosen.startsWith(`${node.key}.`);
      const isShort = node.depth === 0 && node.children.length <= mostOpen && node.children.some((one) => one.children.length > 0);
      const usual = all ?? (isSearch || isAbove || isShort);
      return usual !== toggled.has(node.key);
    },
    [all, isSearch, chosen, toggled],
  );
  const toggle = (node: ConfigNode) => {
    const next = new Set(toggled);
    if (!next.delete(node.key)) next.add(node.key);
    setToggled(next);
  };
  const setAll = (open: boolean) => {
    setToggled(new Set());
    setAllOpen(open);
  };
  const rows = useMemo(() => rowsOf(nodes, isOpen), [nodes, isOpen]);
  return { rows, isOpen, toggle, setAll };
}

/** Cell is a key of the tree: its name, its value where it has one, and its marks. */
function Cell({ node, isOpen }: { node: ConfigNode; isOpen: boolean }) {
  const { name, label, children, owner, waits } = node;
  const isValue = children.length === 0;
  const value = isValue ? valueOf(node.value).slice(0, 300) : "";
  return (
    <>
      <span className="u-tree-name" title={label ? `${label} (${name})` : name}>
        {label ? (
          <>
            {label} <Faint>{shortName(name)}</Faint>
          </>
        ) : (
          name
        )}
      </span>
      <span className="u-tree-value" title={value}>
        {isValue ? value || <Faint>blank</Faint> : isOpen ? "" : summary(node)}
      </span>
      <span className="u-tree-marks">
        {isValue && isManaged(node) && <Chip title="Muster manages this value">managed</Chip>}
        {isValue && owner?.owner === "daemon" && <Chip title="Set at the daemon, inside of what Muster made">of the daemon</Chip>}
        {isValue && waits && (waits.drift ? <Chip title="Somebody changed it at the daemon">drift</Chip> : <State badges={classes} state={waits.class} />)}
      </span>
    </>
  );
}

const shortName = (name: string) => (/^(?:[A-Z2-7]{7}-){7}[A-Z2-7]{7}$/.test(name) ? shortID(name) : name);

/** summary is what a closed node has below. */
function summary({ children, managed, waiting }: ConfigNode): string {
  const parts = [count(children.length)];
  if (managed > 0) parts.push(`${count(managed)} managed`);
  if (waiting > 0) parts.push(plural(waiting, "value waits", "values wait"));
  return parts.join(" · ");
}

/** Details is the chosen key: its whole value, what it is for and where it comes from. */
function Details({
  id,
  asked,
  node,
  labels,
}: {
  id: string;
  asked: string;
  node: ConfigNode | undefined;
  labels: ReadonlyMap<string, string>;
}) {
  const names = useTemplateNames();
  if (!asked) {
    return (
      <Panel title="Where a value comes from">
        <Muted>Choose a key: its value, what it is for and where it comes from show here.</Muted>
      </Panel>
    );
  }
  const device = labels.get(asked.split(".")[1] ?? "");
  const owner = node?.owner;
  return (
    <Panel
      title={node?.label || node?.name || asked}
      actions={
        <CopyButton value={asked} timeout={1500}>
          {({ copied, copy }) => (
            <Button
              variant="default"
              leftSection={copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
              onClick={copy}
            >
              {copied ? "Copied" : "Copy key"}
            </Button>
          )}
        </CopyButton>
      }
    >
      <Stack>
        <Facts>
          <Fact name="Key">
            <Mono>{asked}</Mono>
          </Fact>
          {device && <Fact name="Device">{device}</Fact>}
        </Facts>
        {node === undefined && <Prose>The daemon does not have this key.</Prose>}
        {node && node.children.length === 0 && <Code>{JSON.stringify(node.value, null, 2).slice(0, 4000)}</Code>}
        {node && node.children.length > 0 && <Muted>{summary(node)}</Muted>}
        {owner && owner.templates.length > 0 && (
          <Row>
            <Faint>Managed by</Faint>
            {owner.templates.map((template) => (
              <To key={template} href={`/templates/${template}`}>
                {names.get(template) ?? `Template ${template}`}
              </To>
            ))}
          </Row>
        )}
        {node?.waits && (
          <Row>
            <State badges={classes} state={node.waits.class} />
            <To href={`/devices/${id}/plan`}>See the change in the plan</To>
          </Row>
        )}
        {asked.includes(".") && <Explained id={id} about={asked} isNamed />}
      </Stack>
    </Panel>
  );
}
