import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { launch, logIn, settle } from "./browser";
import { inEveryView, wanted } from "./camera";
import { Muster } from "./muster";
import { until } from "./until";

// Screenshots of what a page shows only at times: dialogs, a first start, refusals, a server that is away.
let muster: Muster;
let empty: Muster;
let browser: Browser;
let device: string;
const rollouts = { superseded: 0, halted: 0 };

beforeAll(async () => {
  [muster, empty, browser] = await Promise.all([Muster.start("--demo", "30"), Muster.start(), launch()]);
  await Promise.all([
    muster.user("anna", "admin"),
    muster.user("vera", "viewer"),
    muster.user("otto", "operator"),
    empty.user("anna", "admin"),
  ]);
  const { devices } = await muster.call<{ devices: { deviceID: string }[] }>("GET", "/inventory");
  device = devices[0]?.deviceID ?? "";
  await until("all demo devices are in sync", async () => {
    const { configurations } = await muster.call<{ configurations: Record<string, number> }>("GET", "/overview");
    return configurations.inSync === 30;
  });
  rollouts.superseded = await rolledOut("Fewer relays", "options.relayReconnectIntervalM", "30\n", "pause");
  rollouts.halted = await rolledOut("Larger reports", "options.urSeen", "3\n", "halt");
});

afterAll(async () => {
  await browser.close();
  await Promise.all([muster.stop(), empty.stop()]);
});

/** rolledOut makes a template for all demo devices, stops its rollout after the first wave and gives the rollout's number. */
async function rolledOut(label: string, key: string, text: string, then: "halt" | "pause"): Promise<number> {
  const { id } = await muster.call<{ id: number }>("POST", "/templates", { label, priority: 60, op: "set", key, template: text });
  const before = await muster.call<{ id: number }[]>("GET", "/rollouts");
  await muster.call("PUT", `/templates/${id}/tags/demo`);
  let made = 0;
  await until("the first wave is admitted", async () => {
    const [newest] = await muster.call<{ id: number; wave: number }[]>("GET", "/rollouts");
    if (newest === undefined || newest.id === before[0]?.id || newest.wave === 0) return false;
    made = newest.id;
    return true;
  });
  await muster.call("POST", `/rollouts/${made}/${then}`);
  return made;
}

const press = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole("button", { name }).first().click();
  await page.getByRole("dialog").waitFor();
};

const pressLast = (name: string) => async (page: Page) => {
  await page.getByRole("button", { name, exact: true }).last().click();
  await page.getByRole("dialog").waitFor();
};

const adding = (tab: string) => async (page: Page) => {
  await press("Add devices")(page);
  await page.getByRole("dialog").getByRole("tab", { name: tab }).click();
};

const chosen = (button?: string) => async (page: Page) => {
  for (const i of [1, 2, 3]) await page.getByRole("grid", { name: "Devices" }).getByRole("checkbox").nth(i).click();
  if (button) await press(button)(page);
};

const bulk = (menu: string, entry: RegExp) => async (page: Page) => {
  await chosen()(page);
  await page.getByRole("button", { name: menu }).click();
  await page.getByRole("menuitem", { name: entry }).click();
  await page.getByRole("dialog").waitFor();
};

const palette = (text: string) => async (page: Page) => {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search" }).fill(text);
};

const wrong = async (page: Page) => {
  await page.getByLabel("Label").fill("Rescan more often");
  await page.getByRole("combobox", { name: "Key" }).fill("options.relayReconnectIntervalM");
  await page.keyboard.press("Tab");
  await page.getByRole("textbox", { name: "Template text" }).click();
  await page.keyboard.type("{ half");
  await page.getByRole("alert").getByText(/line 1/i).first().waitFor();
};

const planned = async (page: Page) => {
  const draft = page.getByRole("button", { name: "Discard it" }); // of the picture before
  if (await draft.isVisible()) await draft.click();
  await page.getByLabel("Label").fill("Rescan more often");
  await page.getByRole("combobox", { name: "Key" }).fill("options.relaysEnabled");
  await page.getByRole("combobox", { name: "Op" }).click();
  await page.getByRole("option", { name: "set" }).click();
  await page.getByRole("combobox", { name: "Tags" }).fill("demo");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Template text" }).click();
  await page.keyboard.type("true");
  await page.getByRole("button", { name: /for \d+ devices/ }).waitFor();
};

const shared = async (page: Page) => {
  await page.getByLabel("Name").fill("Team");
  await page.getByLabel("Where").fill("~/Team");
  await page.getByRole("combobox", { name: "Send and receive" }).fill("demo");
  await page.keyboard.press("Enter");
  const says = page.getByRole("list", { name: "What would change" });
  await says.waitFor();
  await says.scrollIntoViewIfNeeded();
};

const limited = async (page: Page) => {
  await page.getByRole("combobox", { name: "Devices with one of the tags" }).fill("demo");
  await page.keyboard.press("Enter");
  await page.getByLabel("Send at most").fill("2 MB/s");
  await page.getByRole("list", { name: "What would change" }).waitFor();
};

const mistaken = async (page: Page) => {
  await page.getByRole("combobox", { name: "Devices with one of the tags" }).fill("demo");
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: "Setting" }).fill("options.maxFolderConcurrency");
  await page.getByLabel("Value").fill("many");
  await page.getByText(/is a whole number/).first().waitFor();
};

type State = [name: string, path: string, act?: (page: Page) => Promise<unknown>];

const ofAnna: State[] = [
  ["add-agent", "devices", adding("By its agent")],
  ["add-one", "devices", adding("One, by address")],
  ["add-many", "devices", adding("Many, pasted")],
  ["chosen", "devices", chosen()],
  ["bulk-tag", "devices", chosen("Add tag")],
  ["bulk-menu", "devices", async (page) => {
    await chosen()(page);
    await page.getByRole("button", { name: "Their daemons" }).click();
    await page.getByRole("menu").waitFor();
  }],
  ["bulk-unwatch", "devices", bulk("What Muster does", /^Stop watching/)],
  ["bulk-upgrade", "devices", bulk("Their daemons", /^Upgrade/)],
  ["bulk-remove", "devices", chosen("Remove…")],
  ["bulk-progress", "devices", async (page) => {
    await bulk("Their daemons", /^Rescan/)(page);
    await page.getByRole("dialog").getByRole("button", { name: "Rescan", exact: true }).click();
    await page.getByRole("region", { name: "For many devices" }).waitFor();
  }],
  ["keys", "", (page) => page.keyboard.press("?")],
  ["palette-act", "", palette("restart")],
  ["no-match", "devices?q=nothing-has-this-name"],
  ["palette", "devices", palette("nas")],
  ["palette-nothing", "devices", palette("zzzz")],
  ["remove-device", "devices/{device}/settings", press("Remove")],
  ["stop-device", "devices/{device}", press("Stop writing")],
  ["restore", "devices/{device}/history", press(/^Restore revision/)],
  ["template-wrong", "templates/new", wrong],
  ["template-planned", "templates/new", planned],
  ["form-planned", "templates/forms/limits", limited],
  ["form-wrong", "templates/forms/setting", mistaken],
  ["share-planned", "templates/share", shared],
  ["template-delete", "templates/{template}", press("Delete")],
  ["rollout-halted", "rollouts/{halted}"],
  ["rollout-superseded", "rollouts/{superseded}"],
  ["rollout-undo", "rollouts/{halted}", press("Undo")],
  ["waiting-undo", "", press("Undo")],
  ["revoke", "devices/{device}/settings", press("Revoke this device")],
  ["tag-delete", "tags", press(/^Delete/)],
  ["stop-all", "settings", press("Stop writing")],
  ["user-delete", "settings?tab=people", pressLast("Delete")],
  ["user-disable", "settings?tab=people", pressLast("Disable")],
  ["no-device", `devices/${"A".repeat(7)}`],
  ["no-page", "nowhere"],
];

const ofVera: State[] = [
  ["viewer-home", ""],
  ["viewer-device", "devices/{device}"],
  ["viewer-template", "templates/{template}"],
  ["viewer-rollout", "rollouts/{halted}"],
  ["viewer-settings", "settings?tab=people"],
  ["viewer-audit", "audit"],
];

const ofNobody: State[] = ["", "devices", "templates", "templates/order", "folders", "folder-matrix", "rollouts", "tags", "events", "audit"].map(
  (path) => [`empty-${path.replace("/", "-") || "first"}`, path],
);

async function draw(page: Page, at: Muster, shot: (name: string) => Promise<unknown>, states: State[]) {
  const [first] = await muster.call<{ id: number }[]>("GET", "/templates");
  for (const [name, path, act] of states) {
    if (!wanted(name)) continue;
    const filled = path
      .replace("{device}", device)
      .replace("{template}", String(first?.id))
      .replace("{halted}", String(rollouts.halted))
      .replace("{superseded}", String(rollouts.superseded));
    await page.goto(`${at.url}/ui/${filled}`);
    try {
      page.setDefaultTimeout(8_000);
      await settle(page);
      await act?.(page);
    } catch (reason) {
      missing.push(`${name}: ${String(reason)}`);
      console.warn(name, String(reason)); // the picture shows what is there instead
    }
    await shot(name);
  }
}
const missing: string[] = [];

test("shots of states", async () => {
  await inEveryView(browser, async (page, shot) => {
    await logIn(page, muster, "anna");
    await draw(page, muster, shot, ofAnna);
    for (const path of ["docs/", "docs/api/", "docs/templates"]) {
      if (!wanted("docs")) continue;
      await page.goto(`${muster.url}/${path}`);
      await shot(path.replaceAll("/", "-").replace(/-$/, ""));
    }
    await page.context().clearCookies();
    await logIn(page, muster, "vera");
    await draw(page, muster, shot, ofVera);
    if (wanted("session-ended")) {
      await page.context().clearCookies();
      await page.goto(`${muster.url}/ui/templates`);
      await shot("session-ended");
    }
    await logIn(page, empty, "anna");
    await draw(page, empty, shot, ofNobody);
    if (wanted("server-away")) {
      await page.goto(`${empty.url}/ui/`);
      await settle(page);
      await empty.halt();
      await page.getByText(/server/i).first().waitFor();
      await page.waitForTimeout(3000);
      await shot("server-away");
      await empty.again();
    }
  });
  if (missing.length > 0) throw new Error(missing.join("\n"));
});
