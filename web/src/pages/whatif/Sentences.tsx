import type { Schemas } from "../../api/client";
import { plural } from "../../ui/format";
import { Faint, Text } from "../../ui/text";

type Sentence = Schemas["Summary"]["sentences"][number];

const signs: Record<Sentence["kind"], string> = {
  failed: "!",
  unread: "?",
  removed: "−",
  added: "+",
  changed: "~",
  unplanned: "·",
};

/** Sentences is what a plan does, as the server says it: equal changes once, what may cost most first. */
export function Sentences({ summary }: { summary: Schemas["Summary"] }) {
  const { sentences, moreChanges, moreDevices, removal } = summary;
  if (sentences.length === 0) return null;
  return (
    <div className="u-stack" data-tight>
      <ul className="u-sentences" aria-label="What would change">
        {sentences.map((one, i) => (
          <li key={i} data-kind={one.kind}>
            <span aria-hidden>{signs[one.kind]}</span>
            <div>
              <Text>{one.text}</Text>
              {one.devices > 1 && (
                <div>
                  <Faint>{named(one)}</Faint>
                </div>
              )}
            </div>
          </li>
        ))}
      </ul>
      {moreChanges > 0 && (
        <Faint>
          and {plural(moreChanges, "more change")} on {plural(moreDevices, "device")}: the keys and values are below
        </Faint>
      )}
      {removal && <Text>{removal}</Text>}
    </div>
  );
}

function named({ labels, devices }: Sentence): string {
  const more = devices - labels.length;
  return labels.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
