import { lineDifference } from "./lines";

const words = { " ": "", "-": "removed", "+": "added" };

/** TextDifference shows two texts by line. The sign says what the colour does. */
export function TextDifference({ before, after }: { before: string; after: string }) {
  return (
    <div className="u-code" tabIndex={0} role="group" aria-label="Difference">
      {lineDifference(before, after).map((line, i) => (
        <div key={i} className="u-line" data-sign={line.sign}>
          <span className="u-sign" aria-label={words[line.sign]}>
            {line.sign}
          </span>
          {line.text}
        </div>
      ))}
    </div>
  );
}
