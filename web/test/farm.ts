import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { Muster } from "./muster";

interface Simulated {
  deviceID: string;
  label: string;
  apiAddress: string;
  apiPort: number;
  apiKey: string;
}

/** Farm is simulated daemons in a process of their own: so many open files as 10,000 of them need fit into no single one. */
export class Farm {
  private constructor(
    private readonly process: ChildProcess,
    private readonly daemons: Simulated[],
  ) {}

  static async start(count: number): Promise<Farm> {
    const child = spawn(new URL("../../bin/muster", import.meta.url).pathname, ["sim", "--shared", "--count", String(count)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const daemons: Simulated[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      daemons.push(JSON.parse(line) as Simulated);
      if (daemons.length === count) return new Farm(child, daemons);
    }
    throw new Error(`muster sim ended with ${child.exitCode} after ${daemons.length} daemons`);
  }

  /**
   * register adds all daemons to a server: each with the tag that its name has in the middle, such as edge, and with one
   * that brings a template.
   */
  async register(muster: Muster): Promise<void> {
    const rest = [...this.daemons];
    const some = async () => {
      for (let one = rest.pop(); one; one = rest.pop()) await muster.call("PUT", `/devices/${one.deviceID}`, one);
    };
    await Promise.all(Array.from({ length: 16 }, some));
    const template = { label: "No relays", op: "set", key: "options.relaysEnabled", template: "false\n" };
    const { id } = await muster.call<{ id: number }>("POST", "/templates", template);
    await muster.call("PUT", `/templates/${id}/tags/relayless`);
    const { generation } = await muster.call<{ generation: number }>("GET", "/overview");
    const added = this.daemons.flatMap(({ deviceID, label }) =>
      ["relayless", label.split("-")[1] ?? "other"].map((tag) => ({ device: deviceID, tag })),
    );
    await muster.call("POST", "/changes", { generation, tags: { added } });
  }

  stop(): void {
    this.process.kill();
  }
}
