import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { InventoryDevice } from "../../api/inventory";
import { Act, done, warn } from "../../ui/act";
import { ActMenu } from "../../ui/actmenu";
import { count, plural } from "../../ui/format";
import { startJob } from "../../ui/jobs";
import { Strong } from "../../ui/text";
import { consequences, given, verbs, type GivenType } from "../orders/words";
import { bulkActs, type BulkAct, type BulkActName } from "./bulkacts";
import { BulkConfirm } from "./BulkConfirm";
import { BulkOrder } from "./BulkOrder";
import { BulkTag } from "./BulkTag";

type Doing = { order: GivenType } | { act: BulkActName } | { tag: "add" | "remove" };

/** Bulk does one thing with all chosen devices. Progress shows how far that is, and for which devices it failed. */
export function Bulk({
  devices,
  all,
  hidden,
  onAll,
  onOnlyShown,
  onDone,
}: {
  devices: InventoryDevice[];
  all: number; // devices that the filter picks
  hidden: number; // chosen devices that the filter does not pick
  onAll: () => void;
  onOnlyShown: () => void; // no longer chooses those that are hidden
  onDone: () => void;
}) {
  const client = useQueryClient();
  const [doing, setDoing] = useState<Doing>();
  const close = () => setDoing(undefined);

  const start = (says: string, act: (device: InventoryDevice) => Promise<unknown>) => {
    void startJob(says, devices, act, () => void client.invalidateQueries()).then(({ failed }) => {
      if (failed.length > 0) warn(`${says}: it failed on ${plural(failed.length, "device")}. The page of devices lists why`);
      else done(`${says}: ${plural(devices.length, "device")}`);
    });
  };
  const entry = (name: BulkActName) => ({
    name: bulkActs[name].entry,
    about: bulkActs[name].about,
    needs: bulkActs[name].needs,
    open: () => setDoing({ act: name }),
  });

  return (
    <div className="u-toolbar" data-selected>
      <Strong>{plural(devices.length, "device")} chosen</Strong>
      {hidden > 0 && (
        <>
          <span>{`${count(hidden)} of them ${hidden === 1 ? "does" : "do"} not show`}</span>
          <button type="button" className="u-link" onClick={onOnlyShown}>
            {hidden === 1 ? "Leave it out" : "Leave them out"}
          </button>
        </>
      )}
      {devices.length - hidden < all && (
        <button type="button" className="u-link" onClick={onAll}>
          {all === 1 ? "Choose the one that shows" : `Choose all ${count(all)} that show`}
        </button>
      )}
      <Act needs="operator" run={() => Promise.resolve(setDoing({ tag: "add" }))}>
        Add tag
      </Act>
      <Act needs="operator" run={() => Promise.resolve(setDoing({ tag: "remove" }))}>
        Remove tag
      </Act>
      <Act needs="operator" run={() => Promise.resolve(setDoing({ act: "apply" }))}>
        Apply
      </Act>
      <ActMenu
        name="Their daemons"
        entries={given.map((type) => ({
          name: verbs[type],
          about: consequences[type] ?? "",
          needs: "operator",
          open: () => setDoing({ order: type }),
        }))}
      />
      <ActMenu name="What Muster does" entries={[entry("observe"), entry("paused"), entry("on")]} />
      <Act needs="admin" color="red" run={() => Promise.resolve(setDoing({ act: "remove" }))}>
        {bulkActs.remove.entry}
      </Act>
      <Button variant="subtle" color="gray" onClick={onDone}>
        Clear
      </Button>
      {doing && "order" in doing && <BulkOrder type={doing.order} devices={devices} onClose={close} />}
      {doing && "act" in doing && (
        <BulkConfirm
          name={doing.act}
          devices={devices}
          run={(act: BulkAct, title) => start(act.says, ({ deviceID }) => act.act(deviceID, title))}
          onClose={close}
        />
      )}
      {doing && "tag" in doing && (
        <BulkTag
          devices={devices}
          removes={doing.tag === "remove"}
          onClose={close}
        />
      )}
    </div>
  );
}
