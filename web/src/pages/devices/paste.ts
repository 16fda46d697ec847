export interface NewDevice {
  deviceID: string;
  label: string;
  apiAddress: string;
  apiPort: number;
  apiKey: string;
  tags: string[];
}

/** hostAndPort reads what people copy from the bar of their browser: https://10.0.0.7:8384/ and 10.0.0.7:8384. */
export function hostAndPort(text: string): { apiAddress: string; apiPort?: number } {
  const [, host = "", port] = /^(?:https?:\/\/)?(\[[^\]]*\]|[^:/]+)(?::(\d+))?(?:\/.*)?$/i.exec(text.trim()) ?? [];
  if (host === "") return { apiAddress: text.trim() };
  return { apiAddress: host.replace(/^\[|\]$/g, ""), ...(port ? { apiPort: Number(port) } : {}) };
}

/** readPaste reads a list of devices: ID, label, address, port, API key, tags. Blank lines and a heading are skipped. */
export function readPaste(text: string): { devices: NewDevice[]; errors: { line: number; message: string }[] } {
  const devices: NewDevice[] = [];
  const errors: { line: number; message: string }[] = [];
  text.split(/\r?\n/).forEach((row, i) => {
    const line = i + 1;
    if (row.trim() === "" || row.startsWith("#")) return;
    const fields = row.split(row.includes("\t") ? "\t" : /[,;]/).map((field) => field.trim());
    const [deviceID = "", label = "", apiAddress = "", port = "", apiKey = "", tags = ""] = fields;
    if (line === 1 && !/\d/.test(port) && /id/i.test(deviceID)) return; // a heading
    if (!/^[A-Z2-7018]{7}(-?[A-Z2-7018]{7}){7}$/i.test(deviceID)) {
      errors.push({ line, message: `"${deviceID.slice(0, 20)}" is no device ID. It comes first on the line.` });
      return;
    }
    if (apiKey === "") {
      errors.push({ line, message: "There is no API key. It is the fifth field." });
      return;
    }
    const apiPort = port === "" ? 8384 : Number(port);
    if (!Number.isInteger(apiPort) || apiPort < 1 || apiPort > 65535) {
      errors.push({ line, message: `"${port.slice(0, 20)}" is no port. It is the fourth field.` });
      return;
    }
    devices.push({ deviceID, label, apiAddress, apiPort, apiKey, tags: tags.split(/\s+/).filter(Boolean) });
  });
  return { devices, errors };
}
