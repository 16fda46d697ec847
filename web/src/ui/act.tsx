import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState, type ReactNode } from "react";
import { asProblem } from "../api/problem";
import { useMe } from "../session/me";
import { includes, refusal, type Role } from "../session/roles";
import { QuestionModal, type Question } from "./confirm";
import { ended, sentence } from "./format";
import { To } from "./text";

interface Linked {
  says: string;
  href: string;
  also?: ReactNode; // what can be done about it
}

/** Told is a message that shows, to which something can be added. */
interface Told {
  link: (page: Linked) => void; // to the page where it goes on
  undo: (back: () => Promise<unknown>) => void; // a button that takes the act back, for those who may
}

const success = { icon: <IconCheck size={14} />, color: "green" };
const lasts = 6000; // ms
const lastsWithButton = 12_000; // ms

/** done tells in a corner what came of an act, in a text that may begin with a name. */
export function done(message: string): Told {
  const text = ended(message);
  const id = notifications.show({ ...success, message: text, autoClose: lasts });
  const update = (content: ReactNode, autoClose: number | false) =>
    notifications.update({ ...success, id, message: content, autoClose, loading: autoClose === false });
  const takeBack = async (back: () => Promise<unknown>) => {
    update(text, false);
    try {
      await back();
      update(`Taken back: ${text}`, lasts);
    } catch (error) {
      notifications.hide(id);
      failed(error);
    }
  };
  return {
    link: ({ says, href, also }) =>
      update(
        <>
          {text} <To href={href}>{says}</To> {also}
        </>,
        lastsWithButton,
      ),
    undo: (back) =>
      update(
        <>
          {text}{" "}
          <button type="button" className="u-link" onClick={() => void takeBack(back)}>
            Undo
          </button>
        </>,
        lastsWithButton,
      ),
  };
}

/** warn tells of something that was done and may not be meant so; it stays until it is closed. */
export function warn(message: string) {
  notifications.show({ message: sentence(message), icon: <IconAlertTriangle size={14} />, color: "yellow", autoClose: false });
}

export function failed(error: unknown) {
  const problem = asProblem(error);
  const details = problem.errors
    .filter((one) => one.message !== problem.message)
    .map((one) => sentence(one.message))
    .join(" ");
  return notifications.show({
    title: sentence(problem.message),
    message: (
      <>
        {[details, problem.hint].filter(Boolean).join(" ")}{" "}
        {problem.page &&
          (problem.page.href ? <To href={problem.page.href}>{problem.page.says}</To> : `${problem.page.says}.`)}
      </>
    ),
    icon: <IconAlertTriangle size={14} />,
    color: "red",
    autoClose: false,
  });
}

/**
 * Act is a button that does something, for those who may. What it removes or stops it asks for first, and what for: run
 * gets the title of the change, blank without one.
 */
export function Act({
  needs,
  run,
  says,
  undo,
  confirm,
  children,
  disabled,
  why,
  ...button
}: {
  needs: Role;
  run: (title: string) => Promise<unknown>;
  says?: string;
  undo?: (() => Promise<unknown>) | undefined; // takes the act back: the message offers it
  confirm?: Question;
  children: ReactNode;
  why?: string; // it is disabled
} & Omit<ButtonProps, "onClick">) {
  const me = useMe();
  const [asking, setAsking] = useState(false);
  const [title, setTitle] = useState("");
  const refused = useRef<string>(undefined); // the notification of the last attempt
  const act = useMutation({
    mutationFn: () => {
      if (refused.current !== undefined) notifications.hide(refused.current);
      return run(confirm ? title : "");
    },
    onSuccess: () => {
      setAsking(false);
      if (!says) return;
      const told = done(says);
      if (undo) told.undo(undo);
    },
    onError: (error) => {
      if (!asking) refused.current = failed(error);
    },
  });
  const may = includes(me.role, needs);
  const reason = may ? (disabled ? why : undefined) : refusal(me.role, needs);
  const off = !may || disabled;
  const click = () => {
    if (off) return;
    act.reset();
    setTitle("");
    if (confirm) setAsking(true);
    else act.mutate();
  };
  const shown = (
    <Button
      variant="default"
      loading={act.isPending && !asking}
      {...button}
      onClick={click}
      aria-disabled={off || undefined}
      data-disabled={off || undefined}
    >
      {children}
    </Button>
  );
  return (
    <>
      {reason ? (
        <Tooltip label={reason} maw={300}>
          {shown}
        </Tooltip>
      ) : (
        shown
      )}
      {confirm && (
        <QuestionModal
          opened={asking}
          question={confirm}
          title={title}
          onTitle={setTitle}
          color={button.color}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.mutate()}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
