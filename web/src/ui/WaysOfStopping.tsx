import { List } from "./layout";
import { stopping, type Stopping } from "./stopping";
import { Strong, Text } from "./text";

const ways: Stopping[] = Object.values(stopping);

/** WaysOfStopping explains the four ways of stopping side by side, folded until somebody asks. */
export function WaysOfStopping() {
  return (
    <details className="u-fold">
      <summary>Four ways of stopping</summary>
      <List
        rows={ways}
        id={(way) => way.state}
        columns={[
          { title: "State", cell: (way) => <Strong>{way.state}</Strong> },
          { title: "What stops", cell: (way) => <Text>{way.stops}</Text> },
          { title: "What goes on", cell: (way) => <Text>{way.goesOn}</Text> },
          { title: "Buttons", cell: (way) => <Text>{`${way.act}, ${way.back.toLowerCase()}`}</Text> },
        ]}
      />
    </details>
  );
}
