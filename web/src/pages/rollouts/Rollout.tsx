import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, titled, type Schemas } from "../../api/client";
import { useLabels, useTemplateNames } from "../../api/labels";
import { queries } from "../../api/queries";
import { Act } from "../../ui/act";
import { inButtons } from "../../ui/buttons";
import { withTemplates } from "../../ui/difference";
import { Export } from "../../ui/export";
import { plural, sentence, shortID } from "../../ui/format";
import { List, Panel, Row, Rows, Split, Stack } from "../../ui/layout";
import { Loads, Page } from "../../ui/page";
import { badgeOf, formerMembers, members, rollouts, State } from "../../ui/state";
import { TextDifference } from "../../ui/textdiff";
import { Ago, Chip, Faint, Mono, Muted, Prose, Strong, Text, To } from "../../ui/text";
import { Sentences } from "../whatif/Sentences";
import { askUndo } from "./undoing";

type Detail = Schemas["RolloutDetail"];
type Member = Detail["members"][number];
type Verb = "approve" | "pause" | "resume" | "halt";

const mostMembers = 300;

/** Rollout is one change on its way: its waves, each device, and the difference that goes out. */
export default function Rollout({ id }: { id: number }) {
  const rollout = useQuery({ ...queries.rollout(id), refetchInterval: 30_000 });
  const data = rollout.data;
  const names = useTemplateNames();
  return (
    <Page
      title={`Rollout ${id}`}
      crumb={{ href: "/rollouts", text: "Rollouts" }}
      updatedAt={rollout.dataUpdatedAt}
      sub={
        data && (
          <>
            <State badges={rollouts} state={data.status} filled />
            <span className="u-text">{withTemplates(data.cause, names)}</span>
          </>
        )
      }
      actions={data && <Steering rollout={data} />}
    >
      <Loads query={rollout}>
        {(detail) => (
          <>
            <Panel tone={badgeOf(rollouts, detail.status).tone}>
              <Stack tight>
                <Strong>
                  <Prose>{sentence(withTemplates(detail.reason, names))}</Prose>
                </Strong>
                {detail.next && (
                  <Muted>
                    <Prose>{sentence(inButtons(detail.next, buttonsOf(detail)))}</Prose>
                  </Muted>
                )}
                {detail.halt && (
                  <Faint>
                    Halted <Ago at={detail.halt.at} />
                  </Faint>
                )}
                {detail.approval && (
                  <Text>
                    {sentence(detail.approval.reason)}{" "}
                    {detail.approval.by && (
                      <>
                        Approved by {detail.approval.by} <Ago at={detail.approval.at} />.
                      </>
                    )}
                  </Text>
                )}
              </Stack>
            </Panel>
            {!isOver(detail.status) && <Rest id={id} />}
            <Waves rollout={detail} />
            <Split>
              <Members rollout={detail} />
              <Difference rollout={detail} />
            </Split>
          </>
        )}
      </Loads>
    </Page>
  );
}

const buttonsOf = ({ id }: Detail) =>
  ["Approve", "Pause", "Resume", "Undo"].map((verb) => ({
    command: ["muster", "rollout", verb.toLowerCase(), id].join(" "),
    verb,
  }));

const isOver = (status: string) => ["undone", "succeeded", "superseded"].includes(status);

function Steering({ rollout }: { rollout: Detail }) {
  const client = useQueryClient();
  const { id, status } = rollout;
  const steer = (verb: Verb) => async (title: string) => {
    const params = { params: { path: { rolloutID: id } } };
    switch (verb) {
      case "approve":
        await ask(api.POST("/api/v1/rollouts/{rolloutID}/approve", params));
        break;
      case "pause":
        await ask(api.POST("/api/v1/rollouts/{rolloutID}/pause", params));
        break;
      case "resume":
        await ask(titled(title).POST("/api/v1/rollouts/{rolloutID}/resume", params));
        break;
      case "halt":
        await ask(api.POST("/api/v1/rollouts/{rolloutID}/halt", params));
        break;
    }
    void client.invalidateQueries();
  };
  return (
    <>
      {rollout.approval && rollout.approval.by === "" && status === "waiting" && (
        <Act needs="admin" variant="filled" run={steer("approve")} says="Approved: the first wave begins">
          Approve
        </Act>
      )}
      {status === "running" && (
        <Act needs="operator" run={steer("pause")} says="Paused" undo={() => steer("resume")("")}>
          Pause
        </Act>
      )}
      {(status === "paused" || status === "halted") && (
        <Act
          needs="operator"
          {...(status === "paused" ? { variant: "filled" as const } : {})}
          run={steer("resume")}
          says="It goes on"
          undo={status === "paused" ? () => steer("pause")("") : undefined}
          {...(status === "halted"
            ? {
                confirm: {
                  title: "Go on in spite of what halted it?",
                  verb: "Resume",
                  body: <Text>{sentence(rollout.halt?.saw || rollout.reason)}</Text>,
                },
              }
            : {})}
        >
          Resume
        </Act>
      )}
      {(status === "running" || status === "paused" || status === "waiting") && (
        <Act needs="operator" color="red" run={steer("halt")} says="Halted: no further device gets the change">
          Halt
        </Act>
      )}
      {!isOver(status) || (status === "succeeded" && rollout.undoneBy === 0) ? (
        <Act
          needs="author"
          {...(status === "halted" ? { variant: "filled" as const } : {})}
          run={() => Promise.resolve(askUndo(id))}
        >
          Undo
        </Act>
      ) : null}
    </>
  );
}

/**
 * Rest is what the devices of the rollout still get, in the server's sentences. It is planned once for a visit, and again
 * while there is nothing to say.
 */
function Rest({ id }: { id: number }) {
  const rest = useQuery({
    ...queries.rolloutRest(id),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state: { data, error } }) =>
      error || data?.devices === 0 || data?.summary.sentences.length ? false : 30_000,
  });
  return (
    <Panel title="Still to come">
      <Loads query={rest} rows={2}>
        {({ devices, left, summary }) => (
          <Stack tight>
            {summary.sentences.length === 0 && (
              <Muted>{devices === 0 ? "All devices are through." : "The plans of its devices are empty."}</Muted>
            )}
            <Sentences summary={summary} />
            {left > 0 && <Faint>{`${plural(left, "device")} more are not planned here.`}</Faint>}
          </Stack>
        )}
      </Loads>
    </Panel>
  );
}

const badgesOf = (rollout: Detail) => (isOver(rollout.status) ? formerMembers : members);

const mostDots = 120;

/** wasAdmitted tells whether a device was admitted to the change, whatever came of it. */
const wasAdmitted = (state: string) => state !== "later" && state !== "absent";

function Waves({ rollout }: { rollout: Detail }) {
  const waves = rollout.waves.map((size, i) => ({
    number: i + 1,
    size,
    members: rollout.members.filter((member) => member.wave === i + 1),
  }));
  const badges = badgesOf(rollout);
  const outside = rollout.members.filter((member) => member.wave === 0);
  if (waves.length === 0) return null;
  return (
    <Panel
      flush
      title="Waves"
      actions={outside.length > 0 && <Faint>{plural(outside.length, "device")} could not be reached at the start</Faint>}
    >
      <div className="u-waves" tabIndex={0} role="group" aria-label="Waves">
        {waves.map((wave) => {
          const wasUndone = rollout.status === "undone";
          const good = wave.members.filter(({ state }) => (wasUndone ? wasAdmitted(state) : state === "good")).length;
          const isDone = good === wave.size;
          return (
            <div
              key={wave.number}
              className="u-wave"
              data-current={(wave.number === rollout.wave && !isDone && !isOver(rollout.status)) || undefined}
              data-done={(isDone && !wasUndone) || undefined}
            >
              <Row spread>
                <Strong>Wave {wave.number}</Strong>
                <Faint>
                  {good} of {wave.size} {wasUndone ? "were admitted before the undo" : "done"}
                </Faint>
              </Row>
              <div className="u-dots" aria-hidden>
                {wave.members.slice(0, mostDots).map((member) => (
                  <span
                    key={member.deviceID}
                    className="u-dot"
                    data-tone={badgeOf(badges, member.state).tone}
                    title={member.label}
                  />
                ))}
              </div>
            </div>
          );
        })}
      </div>
    </Panel>
  );
}

function Members({ rollout }: { rollout: Detail }) {
  const badges = badgesOf(rollout);
  return (
    <Panel
      flush
      title={plural(rollout.members.length, "device")}
      actions={<Export name={`rollout-${rollout.id}`} rows={() => rollout.members} />}
    >
      <List
        rows={rollout.members.slice(0, mostMembers)}
        id={(member) => member.deviceID}
        columns={[
          {
            title: "Device",
            cell: (member) => (
              <To href={`/devices/${member.deviceID}`}>{member.label.slice(0, 200) || shortID(member.deviceID)}</To>
            ),
          },
          { title: "Wave", right: true, cell: (member) => member.wave || <Muted>none</Muted> },
          { title: "State", cell: (member) => <State badges={badges} state={member.state} /> },
          ...(rollout.members.some((member) => member.reason)
            ? [{ title: "Why", cell: (member: Member) => <Faint>{sentence(member.reason)}</Faint> }]
            : []),
        ]}
      />
      {rollout.members.length > mostMembers && (
        <Row>
          <Faint>and {rollout.members.length - mostMembers} more</Faint>
        </Row>
      )}
    </Panel>
  );
}

function Difference({ rollout }: { rollout: Detail }) {
  const labels = useLabels();
  const names = useTemplateNames();
  return (
    <Panel flush title="What goes out">
      <Rows>
        {rollout.templates.map((template) => (
          <li key={template.id}>
            <Stack tight>
              <Row>
                {template.after ? (
                  <To href={`/templates/${template.id}`}>{template.label || `Template ${template.id}`}</To>
                ) : (
                  <Strong>{template.label || `Template ${template.id}`}</Strong>
                )}
                <Chip>{whatHappened(template)}</Chip>
              </Row>
              <TextDifference before={textOf(template.before)} after={textOf(template.after)} />
            </Stack>
          </li>
        ))}
        {rollout.vars.map((one) => (
          <li key={`var-${one.tag ?? ""} ${one.deviceID ?? ""} ${one.name}`}>
            <Stack tight>
              <Text>
                <Mono>{one.name}</Mono> of{" "}
                {one.deviceID ? labels.get(one.deviceID) || shortID(one.deviceID) : `tag ${(one.tag ?? "").slice(0, 200)}`}
              </Text>
              <TextDifference before={valueOf(one.before)} after={valueOf(one.after)} />
            </Stack>
          </li>
        ))}
        {rollout.tags.map((tag, i) => (
          <li key={`tag-${i}`}>
            <Text>
              <Chip>{tag.tag}</Chip> {tag.carried ? "on" : "off"}{" "}
              {tag.deviceID
                ? labels.get(tag.deviceID) || shortID(tag.deviceID)
                : names.get(tag.template ?? 0) || `template ${tag.template ?? 0}`}
            </Text>
          </li>
        ))}
      </Rows>
    </Panel>
  );
}

function valueOf(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value);
}

function whatHappened({ before, after }: Detail["templates"][number]): string {
  if (!after) return "deleted";
  if (!before) return "new";
  return textOf(before) === textOf(after) ? "the same text" : "changed";
}

/** textOf writes what of a template decides about devices as one text, so that all of it is compared by line. */
function textOf(text: Schemas["TemplateText"] | undefined): string {
  if (!text) return "";
  return `# ${text.op} ${text.key || "(everything)"}, priority ${text.priority}\n${text.template}`;
}
