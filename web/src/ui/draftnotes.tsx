import { clock } from "./format";
import type { FormDraft } from "./formdraft";
import { Note } from "./page";

/** KeptNote tells that a form shows what a person filled in before they left it, and asks what becomes of that. */
export function KeptNote({ at, onContinue, onDiscard }: { at: number; onContinue: () => void; onDiscard: () => void }) {
  return (
    <Note tone="busy">
      {at > 0 ? `A draft from ${clock(new Date(at), new Date())}` : "A former draft"}, which was not saved.{" "}
      <button type="button" className="u-link" onClick={onContinue}>
        Continue with it
      </button>{" "}
      <button type="button" className="u-link" onClick={onDiscard}>
        Discard it
      </button>
    </Note>
  );
}

/** DraftNotes tells of a draft that came back, and of what somebody else stored meanwhile. what names what is edited. */
export function DraftNotes<T>({ form, what }: { form: FormDraft<T>; what: string }) {
  const { theirs, restored, dirty } = form;
  return (
    <>
      {theirs !== undefined && (
        <Note>
          Somebody else has changed {what} since you began. What you store replaces that.{" "}
          <button type="button" className="u-link" onClick={() => form.show(theirs)}>
            Show theirs, and discard yours
          </button>
        </Note>
      )}
      {restored !== undefined && dirty && <KeptNote at={restored} onContinue={form.goOn} onDiscard={form.discard} />}
    </>
  );
}
