import { clock } from "./format";
import { Note } from "./page";

/** KeptNote tells that a form shows what a person filled in before they left it, and asks what becomes of that. */
export function KeptNote({ at, onContinue, onDiscard }: { at: number; onContinue: () => void; onDiscard: () => void }) {
  return (
    <Note tone="busy">
      {at > 0 ? `A draft from ${clock(new Date(at), new Date())}` : "A former draft"}, which was not stored.{" "}
      <button type="button" className="u-link" onClick={onContinue}>
        Continue with it
      </button>{" "}
      <button type="button" className="u-link" onClick={onDiscard}>
        Discard it
      </button>
    </Note>
  );
}
