import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./until";

/** Options that keep a daemon on this machine, by element of its config.xml. */
const alone: Record<string, string> = {
  globalAnnounceEnabled: "false",
  localAnnounceEnabled: "false",
  relaysEnabled: "false",
  natEnabled: "false",
  crashReportingEnabled: "false",
  urAccepted: "-1",
  startBrowser: "false",
  autoUpgradeIntervalH: "0",
  setLowPriority: "false",
};

/** Daemon is a real Syncthing on loopback, with a home of its own. Nothing of it leaves the machine. */
export class Daemon {
  id = "";
  private process: ChildProcess | undefined;

  private constructor(
    readonly home: string,
    readonly port: number,
    readonly apiKey: string,
  ) {}

  static async start(): Promise<Daemon> {
    const home = mkdtempSync(join(tmpdir(), "muster-daemon-"));
    execFileSync("syncthing", ["generate", "--home", home], { env: environment(home), stdio: "ignore" });
    const [port, syncPort] = [await freePort(), await freePort()];
    const path = join(home, "config.xml");
    let text = readFileSync(path, "utf8");
    const set = { ...alone, listenAddress: `tcp://127.0.0.1:${syncPort}` };
    for (const [name, value] of Object.entries(set)) text = setElement(text, "options", name, value);
    text = setElement(text, "gui", "address", `127.0.0.1:${port}`);
    writeFileSync(path, text);
    const daemon = new Daemon(home, port, /<apikey>([^<]+)</.exec(text)?.[1] ?? "");
    await daemon.launch();
    return daemon;
  }

  /** launch starts the process, again on the same port, and waits until its API answers. */
  async launch(): Promise<void> {
    this.process = spawn("syncthing", ["serve", "--home", this.home, "--no-browser", "--no-restart"], {
      env: environment(this.home),
      stdio: "ignore",
    });
    await until("syncthing answers", async () => {
      this.id = (await this.call<{ myID: string }>("GET", "/system/status").catch(() => ({ myID: "" }))).myID;
      return this.id !== "";
    });
  }

  /**
   * call sends a request to the daemon's own API, which starts again after a change of gui: that is waited for. What
   * changes something is sent once.
   */
  async call<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    if (method !== "GET") await this.call("GET", "/system/ping");
    const { response, text } = await this.answer(path, {
      method,
      headers: { "X-API-Key": this.apiKey },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  private async answer(path: string, request: RequestInit): Promise<{ response: Response; text: string }> {
    for (const end = Date.now() + 60_000; ; ) {
      try {
        const response = await fetch(`http://127.0.0.1:${this.port}/rest${path}`, request);
        return { response, text: await response.text() };
      } catch (error) {
        if (request.method !== "GET" || Date.now() > end) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** options are those of the configuration that the daemon has now. */
  options(): Promise<Record<string, unknown>> {
    return this.call("GET", "/config/options");
  }

  /** renewCertificate has the daemon start again with another certificate of its API, as after a new https-cert.pem. */
  async renewCertificate(): Promise<void> {
    await this.stop();
    for (const file of ["https-cert.pem", "https-key.pem"]) rmSync(join(this.home, file));
    await this.launch();
  }

  async stop(): Promise<void> {
    this.process?.kill("SIGTERM");
    await this.ended();
  }

  /** ended waits until the process is gone. */
  ended(): Promise<void> {
    const process = this.process;
    return new Promise<void>((resolve) => {
      if (!process || process.exitCode !== null || process.signalCode !== null) return resolve();
      process.once("exit", () => resolve());
    });
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** environment has no proxy and no other home: a folder without a path would share the whole home directory. */
const environment = (home: string) => ({
  HOME: home,
  PATH: process.env.PATH ?? "",
  STNOUPGRADE: "1",
  STNODEFAULTFOLDER: "1",
});

/** setElement leaves one element with this name inside a section: in place of the first one, or at the end. */
function setElement(text: string, section: string, name: string, value: string): string {
  const [start, end] = [text.indexOf(`<${section}`), text.indexOf(`</${section}>`)];
  if (start < 0 || end < 0) throw new Error(`config.xml has no section ${section}`);
  const others = text.slice(start, end).replace(new RegExp(`\\s*<${name}>[^<]*</${name}>`, "g"), "");
  return `${text.slice(0, start)}${others}<${name}>${value}</${name}>\n${text.slice(end)}`;
}

/**
 * freePort is one on which nothing listens. It is below those that the kernel gives to others, who would take it while
 * a daemon or server that has it starts again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
