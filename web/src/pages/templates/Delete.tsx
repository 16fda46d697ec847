import { useLocation } from "wouter";
import { Deletion } from "../whatif/Deletion";

/** Delete deletes a template, after the plan of that was shown. */
export function Delete({ id, label }: { id: number; label: string }) {
  const [, navigate] = useLocation();
  return (
    <Deletion
      needs="author"
      change={{ templates: { deleted: [id] } }}
      question={`Delete ${label.slice(0, 60) || `template ${id}`}?`}
      verb="Delete"
      about="What only this template says returns to what it was before:"
      says="The template is deleted"
      onDone={() => navigate("/templates")}
    >
      Delete
    </Deletion>
  );
}
