import { spawn, type ChildProcess } from "node:child_process";
import { request } from "node:https";
import { createInterface } from "node:readline";
import type { Muster } from "./muster";
import { until } from "./until";

export interface Simulated {
  deviceID: string;
  label: string;
  apiAddress: string;
  apiPort: number;
  apiKey: string;
}

/** foldersOf asks a simulated daemon itself for the IDs of its folders. Its certificate is its own. */
export function foldersOf({ apiAddress: host, apiPort: port, apiKey }: Simulated): Promise<string[]> {
  const headers = { "X-API-Key": apiKey };
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path: "/rest/config/folders", headers, rejectUnauthorized: false }, (response) => {
      let text = "";
      response.on("data", (part: Buffer) => (text += part.toString()));
      response.once("error", reject);
      response.once("end", () => {
        if (response.statusCode !== 200) return reject(new Error(`${response.statusCode} ${text}`));
        resolve((JSON.parse(text) as { id: string }[]).map(({ id }) => id));
      });
    });
    asked.once("error", reject);
    asked.end();
  });
}

/** Farm is simulated daemons in a process of their own: so many open files as 10,000 of them need fit into no single one. */
export class Farm {
  private constructor(
    private readonly process: ChildProcess,
    readonly daemons: readonly Simulated[],
  ) {}

  static async start(count: number): Promise<Farm> {
    return Farm.run(count, "bin/muster", ["sim", "--shared"]);
  }

  /** night has a bad night among its daemons once it is told to (test/simulated/night). */
  static async night(count: number): Promise<Farm> {
    return Farm.run(count, "go", ["run", "./test/simulated/night"]);
  }

  private static async run(count: number, program: string, args: string[]): Promise<Farm> {
    const root = new URL("../../", import.meta.url).pathname;
    const child = spawn(program.includes("/") ? root + program : program, [...args, "--count", String(count)], {
      cwd: root,
      stdio: ["pipe", "pipe", "inherit"],
    });
    const daemons: Simulated[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      daemons.push(JSON.parse(line) as Simulated);
      if (daemons.length === count) return new Farm(child, daemons);
    }
    throw new Error(`${program} ended with ${child.exitCode} after ${daemons.length} daemons`);
  }

  /** add registers all daemons at a server, and waits until it has read them. */
  async add(muster: Muster): Promise<void> {
    await this.put(muster);
    await until(
      "all devices are online",
      async () => {
        const { connections } = await muster.call<{ connections: Record<string, number> }>("GET", "/overview");
        return connections.online === this.daemons.length;
      },
      10 * 60_000,
    );
  }

  private async put(muster: Muster): Promise<void> {
    const rest = [...this.daemons];
    const some = async () => {
      for (let one = rest.pop(); one; one = rest.pop()) await muster.call("PUT", `/devices/${one.deviceID}`, one);
    };
    await Promise.all(Array.from({ length: 16 }, some));
  }

  /**
   * register adds all daemons to a server: each with the tag that its name has in the middle, such as edge, and with one
   * that brings a template.
   */
  async register(muster: Muster): Promise<void> {
    await this.put(muster);
    const template = { label: "No relays", op: "set", key: "options.relaysEnabled", template: "false\n" };
    const { id } = await muster.call<{ id: number }>("POST", "/templates", template);
    await muster.call("PUT", `/templates/${id}/tags/relayless`);
    const { generation } = await muster.call<{ generation: number }>("GET", "/overview");
    const added = this.daemons.flatMap(({ deviceID, label }) =>
      ["relayless", label.split("-")[1] ?? "other"].map((tag) => ({ device: deviceID, tag })),
    );
    await muster.call("POST", "/changes", { generation, tags: { added } });
  }

  /** begin brings the trouble of a bad night. */
  begin(): void {
    this.process.stdin?.write("\n");
  }

  stop(): void {
    this.process.stdin?.end();
    this.process.kill();
  }
}
