import { createServer, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Row {
  deviceID: string;
  needBytes: number;
  tags: string[];
}

/**
 * Gate is a proxy before a server. It adds the bare page, which is the yardstick, and once it is told to, answers the
 * event stream itself: so many rows a second become others, whatever the simulated daemons do.
 */
export class Gate {
  private readonly streams = new Set<ServerResponse>();
  private timer: ReturnType<typeof setInterval> | undefined;
  private made = 0;

  private constructor(
    readonly url: string,
    private readonly server: Server,
  ) {}

  static async before(target: string): Promise<Gate> {
    const server = createServer((from, to) => {
      if (from.url?.startsWith("/bare")) return void to.setHeader("Content-Type", "text/html").end(bare);
      if (from.url?.startsWith("/api/v1/events") && gate.timer) return gate.follow(to);
      const through = request(target + (from.url ?? ""), { method: from.method, headers: from.headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(to);
      });
      through.on("error", () => to.destroy());
      to.on("close", () => through.destroy());
      from.pipe(through);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const gate = new Gate(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server);
    return gate;
  }

  /** change has other rows become others from now on, in turn. */
  change(rows: Row[], eachSecond: number): void {
    const inEach = 10; // ticks a second
    this.timer = setInterval(() => {
      for (let i = 0; i < eachSecond / inEach; i++) {
        const row = rows[this.made++ % rows.length];
        if (!row) return;
        row.needBytes = row.needBytes === 0 ? 4096 + this.made : 0;
        const event = {
          ...{ id: this.made, type: "inventory", device: row.deviceID, tags: row.tags },
          ...{ time: new Date().toISOString(), data: { row } },
        };
        for (const to of this.streams) to.write(`id: ${this.made}\nevent: inventory\ndata: ${JSON.stringify(event)}\n\n`);
      }
    }, 1000 / inEach);
  }

  private follow(to: ServerResponse): void {
    to.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" }).write(": hello\n\n");
    this.streams.add(to);
    to.on("close", () => this.streams.delete(to));
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** bare is a page that does the same with nothing around it: it reads the fleet, shows forty rows, or all, follows events. */
const bare = `<!doctype html><title>bare</title><input aria-label="Search devices"><div id="rows"></div><script>
const input = document.querySelector("input"), shown = document.getElementById("rows");
let rows = [];
function draw() {
  const q = input.value.toLowerCase();
  const found = rows.filter((row) => (row.label + row.deviceID + row.address + row.tags).toLowerCase().includes(q));
  shown.replaceChildren(...found.slice(0, location.search ? found.length : 40).map((row) => {
    const line = document.createElement("p");
    line.className = "u-vrow";
    line.textContent = [row.label, row.connection, row.configuration, row.needBytes].join(" ");
    return line;
  }));
}
input.addEventListener("input", draw);
fetch("api/v1/inventory").then((answer) => answer.json()).then((all) => { rows = all.devices; draw(); });
const events = new EventSource("api/v1/events?type=inventory");
events.addEventListener("inventory", (message) => {
  const { row } = JSON.parse(message.data).data;
  const at = rows.findIndex((one) => one.deviceID === row.deviceID);
  if (at >= 0) rows[at] = row;
});
</script>`;
