import { plural } from "../../ui/format";

/** saveFor is what the button says that saves a change of so many devices; undefined while that is not known. */
export function saveFor(devices: number | undefined): string {
  if (devices === undefined) return "Save";
  return devices === 0 ? "Save for no device" : `Save for ${plural(devices, "device")}`;
}
