import { TextInput } from "@mantine/core";
import { useState } from "react";
import { useMay } from "../session/me";
import { Act } from "./act";
import { Row, Stack } from "./layout";
import { quietSeconds, quietText, quietWords } from "./quiet";

/** QuietAfter sets how long a device, or the devices with a tag, may be away before that is trouble. */
export function QuietAfter({
  seconds,
  usual,
  store,
}: {
  seconds: number;
  usual: string; // what holds while nothing is set
  store: (seconds: number) => Promise<unknown>;
}) {
  const isAdmin = useMay("admin");
  const [text, setText] = useState(quietText(seconds));
  const typed = quietSeconds(text);
  return (
    <Stack>
      <TextInput
        size="xs"
        label="May be away for"
        description={`Longer is trouble of which people are told. Days for laptops that are closed at night: 3d, 36h, 90m. ${
          seconds > 0 ? `Now ${quietWords(seconds)}.` : `Blank: ${usual}.`
        }`}
        placeholder={usual}
        readOnly={!isAdmin}
        value={text}
        error={typed === undefined && "Write a number with d, h, m or s, and at most a year: 3d"}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Row>
        <Act
          needs="admin"
          disabled={typed === undefined || typed === seconds}
          why={typed === undefined ? "It is no such time." : "Nothing was changed."}
          run={() => store(typed ?? 0)}
        >
          Save
        </Act>
      </Row>
    </Stack>
  );
}
