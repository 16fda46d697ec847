import { api, ask, type Schemas } from "../../api/client";
import { asProblem, Problem } from "../../api/problem";
import { sentence } from "../../ui/format";

export type DeviceTest = Schemas["DeviceTest"];

/** Access is how a daemon is reached. A blank key is the stored one of a registered device. */
export interface Access {
  deviceID: string;
  apiAddress: string;
  apiPort: number;
  apiKey: string;
}

/** AccessField is a field of a device that a person can correct. */
export type AccessField = "deviceID" | "label" | "apiAddress" | "apiPort" | "apiKey";

/** testAccess has the server try how a daemon is reached; nothing is stored. Without an address there is nothing to try. */
export async function testAccess({ deviceID, apiAddress, apiPort, apiKey }: Access): Promise<DeviceTest | undefined> {
  if (apiAddress === "") return undefined;
  return ask(
    api.POST("/api/v1/devices/{deviceID}/test", {
      params: { path: { deviceID } },
      body: { apiAddress, apiPort, ...(apiKey === "" ? {} : { apiKey }) },
    }),
  );
}

/** found is what a test found wrong, in the server's words; undefined where nothing is. The form has no field for a pin. */
export function found(test: DeviceTest | undefined) {
  if (!test || test.problem === "") return undefined;
  return { field: test.field === "pin" ? "apiAddress" : test.field, says: sentence(test.reason), next: test.next };
}

/** wrongAt is what the server says about one field, of an error or of a test. */
export function wrongAt(field: AccessField, error: unknown, test?: DeviceTest): string | undefined {
  const wrong = found(test);
  if (wrong?.field === field) return wrong.says;
  if (error === undefined || error === null) return undefined;
  const all = asProblem(error).errors;
  return all.find((one) => one.field === field || (field === "deviceID" && one.location === "path.deviceID"))?.message;
}

/** NotReached is a test that found something wrong, as an error. */
export class NotReached extends Problem {
  constructor(test: DeviceTest) {
    const wrong = found(test);
    super({ detail: wrong?.says ?? "", hint: wrong?.next ?? "" });
  }
}

/** noting makes an act that keeps why it failed, so that a form shows that beside its fields, and fails all the same. */
export function noting(set: (error: unknown) => void) {
  return (act: () => Promise<unknown>) => async () => {
    set(undefined);
    try {
      await act();
    } catch (failure) {
      set(failure);
      throw failure;
    }
  };
}
