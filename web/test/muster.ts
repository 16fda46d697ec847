import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./daemon";

export const password = "correct horse battery";

/** Muster is a server, as `make build` built it; with --demo it has simulated daemons. */
export class Muster {
  private constructor(
    readonly url: string,
    readonly token: string,
    private readonly home: string,
    private readonly args: string[],
    private process: ChildProcess,
  ) {}

  static async start(...args: string[]): Promise<Muster> {
    const home = mkdtempSync(join(tmpdir(), "muster-console-"));
    const folder = join(home, "muster");
    const all = ["serve", "--home", folder, "--discovery-server", "none", "--soak", "1s", ...args];
    const { url, process } = await run([...all, "--listen", `127.0.0.1:${await freePort()}`]);
    const token = readFileSync(join(folder, "admin-token"), "utf8").trim();
    return new Muster(url, token, home, all, process);
  }

  /** call sends a request as the administrator's token. */
  async call<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  async user(name: string, role: string): Promise<void> {
    await this.call("POST", "/users", { name, role, password });
  }

  /** halt ends the process; again starts another one over the same home, at the same address. */
  async halt(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.process.exitCode !== null || this.process.signalCode !== null) return resolve();
      this.process.once("exit", () => resolve());
      this.process.kill("SIGTERM");
    });
  }

  async again(): Promise<void> {
    this.process = (await run([...this.args, "--listen", new URL(this.url).host])).process;
  }

  /** database gives the files of the database, and what is in them, of a server that is halted. */
  database(): Map<string, Buffer> {
    const folder = join(this.home, "muster");
    const names = readdirSync(folder).filter((name) => name.startsWith("muster.db"));
    return new Map(names.map((name) => [join(folder, name), readFileSync(join(folder, name))]));
  }

  /** putBack has the database of a halted server be an earlier one. */
  putBack(earlier: Map<string, Buffer>): void {
    for (const name of this.database().keys()) rmSync(name);
    for (const [name, content] of earlier) writeFileSync(name, content, { mode: 0o600 });
  }

  async stop(): Promise<void> {
    await this.halt();
    rmSync(this.home, { recursive: true, force: true });
  }
}

function run(args: string[]): Promise<{ url: string; process: ChildProcess }> {
  const child = spawn(new URL("../../bin/muster", import.meta.url).pathname, args, {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`muster ended with ${code}:\n${out}`)));
    const read = (text: Buffer) => {
      out += text.toString();
      const found = /Muster is ready: (\S+)/.exec(out);
      if (found?.[1]) resolve({ url: found[1].replace(/\/$/, ""), process: child });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
  });
}
