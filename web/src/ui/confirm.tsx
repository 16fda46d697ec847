import { Button, Group, Modal } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Wrong } from "./page";
import { TitleField } from "./title";

/** Question is what a person is asked before an act. */
export interface Question {
  title: string;
  body: ReactNode;
  verb: string;
  untitled?: boolean; // it changes nothing that has a title
  loads?: boolean; // the body does not show yet what the act does: the button waits
}

/** QuestionModal shows a question, with the buttons that answer it. */
export function QuestionModal({
  opened,
  question,
  title,
  onTitle,
  color,
  error,
  isPending,
  onConfirm,
  onClose,
}: {
  opened: boolean;
  question: Question;
  title: string; // of the change
  onTitle: (title: string) => void;
  color?: string | undefined;
  error: unknown;
  isPending: boolean;
  onConfirm: () => void;
  onClose: () => void;
}) {
  return (
    <Modal opened={opened} onClose={onClose} title={question.title} size="lg">
      <div className="u-stack">
        {question.body}
        {!question.untitled && <TitleField value={title} onChange={onTitle} />}
        {error !== null && error !== undefined && <Wrong error={error} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color={color ?? "iris"} loading={isPending} disabled={question.loads} onClick={onConfirm} data-autofocus>
            {question.verb}
          </Button>
        </Group>
      </div>
    </Modal>
  );
}

/** Confirm asks a question that is open already, as an entry of a menu does. It closes when the act succeeded. */
export function Confirm({
  question,
  color,
  run,
  onClose,
  onDone = onClose,
}: {
  question: Question;
  color?: string;
  run: (title: string) => Promise<unknown>;
  onClose: () => void;
  onDone?: () => void;
}) {
  const [title, setTitle] = useState("");
  const act = useMutation({ mutationFn: () => run(title), onSuccess: onDone });
  return (
    <QuestionModal
      opened
      question={question}
      title={title}
      onTitle={setTitle}
      color={color}
      error={act.error}
      isPending={act.isPending}
      onConfirm={() => act.mutate()}
      onClose={onClose}
    />
  );
}
