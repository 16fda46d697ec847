import { api, ask, type Schemas } from "../../api/client";
import { asProblem, Problem } from "../../api/problem";

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

const gui = "In Syncthing: Actions, Settings, GUI.";

/** trouble says what a test found, in the words of the form, and at which field. */
const trouble: Record<Exclude<DeviceTest["problem"], "">, { field: AccessField; says: string; next: string }> = {
  unknownHost: { field: "apiAddress", says: "There is no such host name", next: "Check how it is spelt, or write an IP address." },
  refused: {
    field: "apiPort",
    says: "Nothing listens at this port",
    next: `Check that Syncthing runs, and whether its GUI listens for other machines, and at which port. ${gui}`,
  },
  noAnswer: { field: "apiAddress", says: "There is no answer", next: "Check that the machine is on, and that no firewall is in between." },
  unreachable: {
    field: "apiAddress",
    says: "The server cannot reach this address",
    next: "Check the address, and the network in between.",
  },
  closed: {
    field: "apiPort",
    says: "The connection is closed before an answer comes",
    next: "Syncthing may be starting, or something else listens at this port.",
  },
  failing: { field: "apiAddress", says: "The daemon answers with an error", next: "Look at the log of Syncthing there, then try again." },
  notTLS: {
    field: "apiPort",
    says: "What answers does not speak TLS",
    next: "The API key is not sent in clear. Check the port: Syncthing always speaks TLS there.",
  },
  notSyncthing: { field: "apiPort", says: "What answers is no Syncthing", next: `Check address and port. ${gui}` },
  hostRefused: { field: "apiAddress", says: "Syncthing does not accept this host name", next: "Write an IP address." },
  otherCertificate: {
    field: "apiAddress",
    says: "Another certificate is shown than the pinned one",
    next: "No API key was sent. The settings of the device show both certificates.",
  },
  otherDevice: { field: "deviceID", says: "Another device answers there", next: "Check the device ID, or address and port." },
  keyRefused: { field: "apiKey", says: "Syncthing does not accept this key", next: `Copy it again. ${gui} If it is right already, another daemon answers there.` },
  tooOld: { field: "apiAddress", says: "This Syncthing is too old", next: "Update it to 1.12 or later." },
};

/** found is what a test found wrong; undefined where nothing is. */
export function found(test: DeviceTest | undefined) {
  return test && test.problem !== "" ? trouble[test.problem] : undefined;
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
