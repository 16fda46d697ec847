import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { InventoryDevice } from "../../api/inventory";
import { whatIf } from "../../api/whatif";
import { Confirm } from "../../ui/confirm";
import { plural } from "../../ui/format";
import { Stack } from "../../ui/layout";
import { Loads, Note } from "../../ui/page";
import { Strong, Text, To } from "../../ui/text";
import { Effect, Named } from "../whatif/Effect";
import { restOf } from "../whatif/rest";
import { bulkActs, type BulkAct, type BulkActName } from "./bulkacts";

/** BulkConfirm asks before something is done with many devices: to whom, and what becomes of those that are offline. */
export function BulkConfirm({
  name,
  devices,
  run,
  onClose,
}: {
  name: BulkActName;
  devices: InventoryDevice[];
  run: (act: BulkAct, title: string) => void;
  onClose: () => void;
}) {
  const act: BulkAct = bulkActs[name];
  const offline = devices.filter(({ connection }) => connection !== "online");
  return (
    <Confirm
      onClose={onClose}
      {...(act.isRed ? { color: "red" } : {})}
      run={(title) => {
        run(act, title);
        return Promise.resolve();
      }}
      question={{
        title: `${act.ask} ${plural(devices.length, "device")}?`,
        verb: act.verb,
        body: (
          <Stack>
            <Text>{act.about}</Text>
            <Named devices={devices} />
            {offline.length > 0 && (
              <Note>
                {`${plural(offline.length, "device")} of them cannot be reached now. ${act.offline}`}
                <Named devices={offline} />
              </Note>
            )}
            {name === "remove" && <WhatRemovalCosts devices={devices} />}
          </Stack>
        ),
      }}
    />
  );
}

const mostPlanned = 500; // tags of devices in one question

/** WhatRemovalCosts is what other daemons lose, as far as tags decide it, and where copies are looked up. */
function WhatRemovalCosts({ devices }: { devices: InventoryDevice[] }) {
  const [asked, setAsked] = useState(false);
  const tagged = devices.flatMap(({ deviceID, tags }) => tags.map((tag) => ({ tag, device: deviceID })));
  const plan = useQuery({ ...whatIf({ tags: { removed: tagged.slice(0, mostPlanned) } }), enabled: asked && tagged.length > 0 });
  const gone = new Set(devices.map(({ deviceID }) => deviceID));
  return (
    <Stack tight>
      <Text>
        Muster does not watch their copies any more: of a file that only they have, nobody is told.{" "}
        <To href="/folders">The pages of folders</To> say which device is proven to hold what.
      </Text>
      {tagged.length === 0 && <Text>None of them has a tag: no template shares a folder with them.</Text>}
      {tagged.length > 0 && !asked && (
        <Button size="compact-xs" variant="default" w="fit-content" onClick={() => setAsked(true)}>
          Plan what other devices lose
        </Button>
      )}
      {asked && (
        <>
          <Strong>What the devices that stay lose</Strong>
          {tagged.length > mostPlanned && <Text>{`Planned for the first ${mostPlanned} tags of them.`}</Text>}
          <Loads query={plan} rows={2}>
            {(data) => (
              <>
                <Effect plan={restOf(data, gone)} idle="No device that stays changes." />
                {data.truncated && <Text>There are more changes than are listed and counted here.</Text>}
              </>
            )}
          </Loads>
        </>
      )}
    </Stack>
  );
}
