import { shortID } from "../../ui/format";
import { Note } from "../../ui/page";
import { Text, To } from "../../ui/text";
import { found, type DeviceTest } from "./access";

/** Tested says what a test of a daemon's access found wrong, what to do, and which device is meant. */
export function Tested({ test }: { test: DeviceTest }) {
  const wrong = found(test);
  const { other } = test;
  if (!wrong) return null;
  return (
    <Note tone="bad">
      <Text>
        {`${wrong.says} ${wrong.next} Nothing was saved.`}{" "}
        {other.registered && (
          <>
            {"The device there is "}
            <To href={`/devices/${other.deviceID}`}>{other.label.slice(0, 60) || shortID(other.deviceID)}</To>.
          </>
        )}
        {other.deviceID !== "" && !other.registered && `The device there is ${shortID(other.deviceID)}, which is not registered.`}
      </Text>
    </Note>
  );
}

/** Already says that a device is registered, with a link to its page. */
export function Already({ deviceID, label }: { deviceID: string; label: string }) {
  return (
    <Note>
      {"This device is registered already: "}
      <To href={`/devices/${deviceID}`}>{label.slice(0, 60) || shortID(deviceID)}</To>. Its page replaces the API key or the address.
    </Note>
  );
}
