import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave } from "./browser";
import { Farm, foldersOf, type Simulated } from "./farm";
import { Muster } from "./muster";
import { until } from "./until";
import { visits } from "./visits";

// What the dialog lists is what the answer lets out: on the daemons, not only in what the server says.
let muster: Muster;
let farm: Farm;
let browser: Browser;
const { open: visit, close } = visits(() => ({ browser, muster }));

beforeAll(async () => {
  [muster, farm, browser] = await Promise.all([Muster.start(), Farm.start(16), launch()]);
  await muster.user("anna", "admin");
  await farm.add(muster);
});

afterAll(async () => {
  await leave(browser);
  farm.stop();
  await muster.stop();
});

interface Named {
  deviceID: string;
  label: string;
}
interface Change extends Named {
  key: string;
  names: { devices: Named[]; folders: string[]; paths: string[] };
}
interface Question {
  key: string;
  rollout: number;
  changes: Change[];
}

const questions = () => muster.call<Question[]>("GET", "/consents");
const devicesOf = (asked: Question[]) => asked.flatMap(({ changes }) => changes.map(({ deviceID }) => deviceID)).sort();
const idsOf = (daemons: readonly Simulated[]) => daemons.map(({ deviceID }) => deviceID).sort();

/** having are those daemons that have a folder. */
async function having(folder: string, daemons: readonly Simulated[]): Promise<string[]> {
  const has = await Promise.all(daemons.map(async (one) => (await foldersOf(one)).includes(folder)));
  return idsOf(daemons.filter((_, i) => has[i]));
}

/** share gives daemons a folder, by a template and a tag of its own. It returns the template. */
async function share(folder: string, tag: string, daemons: readonly Simulated[], peers: readonly Simulated[]): Promise<number> {
  const devices = peers.map(({ deviceID }) => ({ deviceID }));
  const template = JSON.stringify({ label: folder, path: `~/${folder}`, devices });
  const { id } = await muster.call<{ id: number }>("POST", "/templates", { label: tag, op: "set", key: `folders.${folder}`, template });
  await muster.call("PUT", `/templates/${id}/tags/${tag}`);
  const { generation } = await muster.call<{ generation: number }>("GET", "/overview");
  const added = daemons.map(({ deviceID }) => ({ device: deviceID, tag }));
  await muster.call("POST", "/changes", { generation, tags: { added } });
  return id;
}

const remove = (template: number) => muster.call("DELETE", `/templates/${template}`);

/** linesOf are changes as lines: device, key, and all that is named. */
function linesOf(asked: Question[]): string[] {
  const named = ({ devices, folders, paths }: Change["names"]) =>
    [...devices.map(({ label }) => label), ...folders.map((one) => `folder ${one}`), ...paths].join(", ");
  return asked.flatMap(({ changes }) => changes.map(({ deviceID, key, names }) => `${deviceID} ${key}: ${named(names)}`)).sort();
}

/** linesIn are the same lines as a dialog shows them. */
async function linesIn(dialog: Locator): Promise<string[]> {
  await dialog.locator("details").first().waitFor();
  const lines = await dialog.locator("details").evaluateAll((all) =>
    all.flatMap((one) => {
      const key = one.querySelector(".u-change-key")?.textContent ?? "";
      const names = [...one.querySelectorAll("*")].find((part) => part.textContent.startsWith("Names ") && part.children.length === 0);
      return [...one.querySelectorAll("a[href*='/devices/']")].map((link) => {
        const device = link.getAttribute("href")?.split("/").pop() ?? "";
        return `${device} ${key}: ${names?.textContent.slice("Names ".length) ?? ""}`;
      });
    }),
  );
  return lines.sort();
}

/** open opens the dialog of an answer to the only question. */
async function open(page: Page, verb: string): Promise<Locator> {
  await page.goto(`${muster.url}/ui/`);
  const group = page.getByRole("region", { name: "Held until a person consents" });
  await group.getByRole("button", { name: verb, exact: true }).click();
  return page.getByRole("dialog");
}

const confirm = (dialog: Locator, verb: string) => dialog.getByRole("button", { name: verb, exact: true }).click();

test("an answer lets out what its dialog lists, of a group and of one device, and nothing of a device that joins meanwhile", async () => {
  const all = farm.daemons.slice(0, 4);
  const [few, late] = [all.slice(0, 3), all.slice(3)];
  const [ofFew, ofLate] = [await share("few", "few", few, all), await share("few", "late", late, all)];
  await until("all have the folder", async () => (await having("few", all)).length === all.length);
  await remove(ofFew);
  await until("the removals wait", async () => devicesOf(await questions()).join() === idsOf(few).join());

  const page = await visit("anna");
  let dialog = await open(page, "Consent");
  const asked = await questions();
  expect(asked).toHaveLength(1);
  expect(await linesIn(dialog)).toEqual(linesOf(asked));
  expect(linesOf(asked)[0]).toContain("folder few, ~/few");
  for (const { label } of all) expect(linesOf(asked)[0]).toContain(label); // the devices that the folder is shared with
  await remove(ofLate);
  await until("another device has the same question", async () => devicesOf(await questions()).join() === idsOf(all).join());
  expect(await questions()).toHaveLength(1);
  expect(await linesIn(dialog)).toEqual(linesOf(asked));
  await confirm(dialog, "Consent");
  await page.getByText("Answered for 3 devices. 1 device joined or changed meanwhile, and waits.").waitFor();
  await until("what was listed is let out", async () => (await having("few", few)).length === 0);
  await until("the other device waits", async () => devicesOf(await questions()).join() === idsOf(late).join());
  expect(await having("few", late)).toEqual(idsOf(late));

  dialog = await open(page, "Consent");
  expect(await linesIn(dialog)).toEqual(linesOf(await questions()));
  await confirm(dialog, "Consent");
  await until("the last one is let out", async () => (await having("few", late)).length === 0);
  await close(page);
});

test("an answer for a whole rollout is a second choice, and is for its members alone", async () => {
  const all = farm.daemons.slice(4);
  const [many, late] = [all.slice(0, 11), all.slice(11)];
  const [ofMany, ofLate] = [await share("many", "many", many, []), await share("many", "later", late, [])];
  await until("all have the folder", async () => (await having("many", all)).length === all.length);
  await remove(ofMany);
  await until("the first wave waits", async () => (await questions()).some(({ rollout }) => rollout > 0));

  const page = await visit("anna");
  const verb = "Consent for the whole rollout";
  const dialog = await open(page, verb);
  const asked = await questions();
  const rollout = asked[0]?.rollout ?? 0;
  expect(asked).toHaveLength(1);
  expect(devicesOf(asked).length).toBeLessThan(many.length);
  expect(await linesIn(dialog)).toEqual(linesOf(asked));
  await dialog.getByText(`The answer is also for equal changes of all other members of rollout ${rollout}, now and later.`).waitFor();
  await remove(ofLate);
  await until("a device that is no member waits, too", async () => {
    const waiting = devicesOf(await questions());
    return idsOf(late).every((id) => waiting.includes(id));
  });
  expect(await linesIn(dialog)).toEqual(linesOf(asked));
  await confirm(dialog, verb);
  await page.getByText(`of rollout ${rollout} that were not shown use it too.`).waitFor();
  await until("all members are let out", async () => (await having("many", many)).length === 0);
  await until("nobody else waits", async () => devicesOf(await questions()).join() === idsOf(late).join());
  expect(await having("many", late)).toEqual(idsOf(late));
  await close(page);
});
