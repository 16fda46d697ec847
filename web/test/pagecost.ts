import type { Browser, BrowserContextOptions, CDPSession } from "playwright-core";

/** A Line is what a page comes over. */
export interface Line {
  bitsASecond: number;
  latencyMs: number; // of each request
}

/** mobile is the line that the goals of the console are for. */
export const mobile: Line = { bitsASecond: 1_600_000, latencyMs: 300 };

/** PageCost is what the first view of a page takes, in a browser that has nothing of it yet. */
export interface PageCost {
  seconds: number; // until what was waited for was painted
  bytes: number; // that came over the line
  requests: string[]; // paths of the API that were asked for
  sequential: number; // requests of which each began after the one before had ended, the longest such row
  nodes: number; // elements and texts of the page, once it reads nothing any more
}

interface Sent {
  path: string;
  from: number;
  to: number; // 0: it has not ended
}

/** costOf opens a page in a browser of its own. shows is what it is waited for. */
export async function costOf(
  browser: Browser,
  session: BrowserContextOptions["storageState"],
  url: string,
  shows: string,
  line?: Line,
): Promise<PageCost> {
  const context = await browser.newContext({ ...(session ? { storageState: session } : {}), viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  const traffic = await listen(cdp);
  if (line) {
    const throughput = line.bitsASecond / 8;
    await cdp.send("Network.emulateNetworkConditions", {
      ...{ offline: false, latency: line.latencyMs, downloadThroughput: throughput, uploadThroughput: throughput },
    });
  }
  await page.addInitScript((selector) => {
    const watch = new MutationObserver(() => {
      if (!document.querySelector(selector)) return;
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => ((window as Painted).paintedAt = performance.now())));
    });
    watch.observe(document, { childList: true, subtree: true });
  }, shows);
  await page.goto(url, { waitUntil: "commit", timeout: 120_000 });
  await page.waitForFunction(() => (window as Painted).paintedAt !== undefined, undefined, { timeout: 120_000 });
  const seconds = (await page.evaluate(() => (window as Painted).paintedAt ?? 0)) / 1000;
  const first = { bytes: traffic.bytes, sequential: sequentialOf(traffic.sent) };
  await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null, undefined, { timeout: 120_000 });
  const nodes = await page.evaluate(() => {
    let count = 0;
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) count++;
    return count;
  });
  const requests = [...traffic.sent.values()].map(({ path }) => path).filter((path) => path.startsWith("/api/"));
  const bytes = line ? first.bytes : traffic.bytes; // with a line the first view counts, without one all that the page reads
  await context.close();
  return { seconds, bytes, requests, sequential: first.sequential, nodes };
}

interface Traffic {
  bytes: number;
  sent: Map<string, Sent>;
}

/** listen counts what the page asks for, apart from the stream of events, which has no end. */
async function listen(cdp: CDPSession): Promise<Traffic> {
  const traffic: Traffic = { bytes: 0, sent: new Map() };
  cdp.on("Network.requestWillBeSent", ({ requestId, request, timestamp }) => {
    const { pathname, search } = new URL(request.url);
    if (!pathname.endsWith("/api/v1/events")) traffic.sent.set(requestId, { path: pathname + search, from: timestamp, to: 0 });
  });
  cdp.on("Network.loadingFinished", ({ requestId, timestamp, encodedDataLength }) => {
    const one = traffic.sent.get(requestId);
    if (!one) return;
    one.to = timestamp;
    traffic.bytes += encodedDataLength;
  });
  await cdp.send("Network.enable");
  return traffic;
}

/** sequentialOf is how many requests come one after the other in the longest row of them. */
export function sequentialOf(sent: ReadonlyMap<string, Sent>): number {
  const ended = [...sent.values()].filter(({ to }) => to > 0).sort((a, b) => a.to - b.to);
  let [count, end] = [0, -Infinity];
  for (const { from, to } of ended) {
    if (from < end) continue;
    count++;
    end = to;
  }
  return count;
}

type Painted = Window & { paintedAt?: number };
