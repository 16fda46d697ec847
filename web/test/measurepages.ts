import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { launch, logIn, newContext } from "./browser";
import { Farm } from "./farm";
import { Muster } from "./muster";
import { costOf, mobile } from "./pagecost";

// What the first view of each page costs over a slow line, in a browser that has nothing of the console yet: bytes and
// seconds until it shows, and the nodes of the page. Nothing fails: the machine may be busy.
const sizes = (process.env.MEASURE_SIZES ?? "50,2000,10000").split(",").map(Number);

const pages = [
  ["home", "", "h1"],
  ["devices", "devices", ".u-vrow"],
  ["folders", "folders", ".u-table tbody tr"],
  ["a folder", "folders/handbook", ".u-table tbody tr"],
  ["folders by device", "folder-matrix", ".u-matrix tbody tr"],
  ["tags", "tags", "h1"],
  ["templates", "templates", "h1"],
  ["rollouts", "rollouts", "h1"],
  ["kept events", "events/kept", "h1"],
  ["audit", "audit", ".u-table tbody tr"],
] as const;

let browser: Browser;
const lines: string[] = [];

beforeAll(async () => {
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  console.log([`first views over ${mobile.bitsASecond / 1e6} Mbit/s and ${mobile.latencyMs} ms`, ...lines].join("\n"));
});

describe.each(sizes)("%i devices", (devices) => {
  let farm: Farm;
  let muster: Muster;
  let session: BrowserContextOptions["storageState"];
  beforeAll(async () => {
    [farm, muster] = await Promise.all([Farm.start(devices), Muster.start()]);
    await muster.user("anna", "admin");
    await farm.add(muster);
    const context = await newContext(browser);
    await logIn(await context.newPage(), muster, "anna");
    session = await context.storageState();
    await context.close();
  }, 30 * 60_000);
  afterEach(async () => {
    await muster.stop();
    farm.stop();
  });

  test("pages", async () => {
    for (const [name, path, shows] of pages) {
      const { seconds, bytes, sequential, nodes } = await costOf(browser, session, `${muster.url}/ui/${path}`, shows, mobile);
      const goal = path === "devices" && devices === 2000 ? `, goal below 4 s ${seconds < 4 ? "met" : "MISSED"}` : "";
      lines.push(
        `${String(devices).padStart(6)} devices, ${name.padEnd(18)} ${seconds.toFixed(1).padStart(5)} s, ` +
          `${(bytes / 1000).toFixed(0).padStart(6)} kB, ${String(sequential).padStart(2)} requests in a row, ` +
          `${String(nodes).padStart(6)} nodes${goal}`,
      );
    }
  }, 30 * 60_000);
});
