import type { Schemas } from "../../../api/client";
import type { PlannedChange } from "../../../api/queries";
import type { Role } from "../../../session/roles";
import { sentence } from "../../../ui/format";

/** Answer is what a person can answer to a change of a plan. */
export interface Answer {
  id: string;
  label: string;
  does: string; // "" where the label says it
  needs: Role;
  put: (body: Answers, key: string) => void;
}

type Answers = Required<Pick<Schemas["ApplyPlan"], "consent" | "remove" | "keep" | "values">>;

/** waitsForPerson tells whether a change is held and nobody consented to it yet. */
export function waitsForPerson(change: Pick<PlannedChange, "class" | "consented">): boolean {
  return change.class === "held" && !change.consented;
}

/** answersTo are the answers that a change can have. A removal is answered by its name. */
export function answersTo(change: PlannedChange): Answer[] {
  const given = change.answers ?? [];
  const all: Answer[] = [];
  if (given.includes("remove")) {
    all.push({ id: "remove", label: "Remove it", does: "", needs: "operator", put: ({ remove }, key) => remove.push(key) });
  } else if (given.includes("consent")) {
    all.push({ id: "consent", label: "Consent", does: "", needs: "admin", put: ({ consent }, key) => consent.push(key) });
  }
  if (given.includes("keep")) {
    all.push({ id: "keep", label: "Keep what is there", does: "", needs: "operator", put: ({ keep }, key) => keep.push(key) });
  }
  for (const { name, does } of change.choices ?? []) {
    all.push({
      id: `value ${name}`,
      label: name,
      does: sentence(does),
      needs: "admin",
      put: ({ values }, key) => {
        values[key] = name;
      },
    });
  }
  return all;
}

/** bodyOf is the body of an apply with the answers that a person gave, by key. */
export function bodyOf(digest: string, answers: ReadonlyMap<string, Answer>): Schemas["ApplyPlan"] {
  const body: Answers = { consent: [], remove: [], keep: [], values: {} };
  for (const [key, answer] of answers) answer.put(body, key);
  return { digest, ...body };
}
