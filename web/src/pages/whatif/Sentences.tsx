import type { Schemas } from "../../api/client";
import { Faint, Text } from "../../ui/text";
import { labelsText, moreTexts } from "./sentencetext";

type Sentence = Schemas["Summary"]["sentences"][number];

const signs: Record<Sentence["kind"], string> = {
  failed: "!",
  unread: "?",
  removed: "−",
  added: "+",
  changed: "~",
  unplanned: "·",
};

/** Sentences lists the server's sentences about a plan. */
export function Sentences({ summary }: { summary: Schemas["Summary"] }) {
  const { sentences, removal } = summary;
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
                  <Faint>{labelsText(one)}</Faint>
                </div>
              )}
            </div>
          </li>
        ))}
      </ul>
      {moreTexts(summary).map((text) => (
        <Faint key={text}>{text}</Faint>
      ))}
      {removal && <Text>{removal}</Text>}
    </div>
  );
}
