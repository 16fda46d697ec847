export interface Recipe {
  name: string;
  label: string;
  op: "set" | "merge" | "append" | "remove";
  key: string;
  template: string;
}

/** recipes are texts to start from. */
export const recipes: Recipe[] = [
  {
    name: "Limit the rates",
    label: "Slow line",
    op: "merge",
    key: "options",
    template: "{\n  # KiB/s; 0 is no limit\n  maxSendKbps: 2000\n  maxRecvKbps: 8000\n}\n",
  },
  { name: "No relays", label: "No relays", op: "set", key: "options.relaysEnabled", template: "false\n" },
  {
    name: "A folder that all devices with a tag share",
    label: "Team folder",
    op: "merge",
    key: "folders.team",
    template: `def template(device):
    return {
        "label": "Team",
        "path": "~/Team",
        "type": "sendreceive",
        "devices": [{"deviceID": d.deviceID} for d in devices(tag="team")],
    }
`,
  },
  {
    name: "Keep old versions in every folder",
    label: "Old versions",
    op: "merge",
    key: "folders.*.versioning",
    template: '{\n  type: "staggered"\n  params: {\n    maxAge: "2592000"\n  }\n}\n',
  },
  {
    name: "Another value on one system",
    label: "Scan less often on Windows",
    op: "merge",
    key: "folders.*",
    template: `def template(device):
    return {"rescanIntervalS": 7200 if device.os == "windows" else 3600}
`,
  },
];
