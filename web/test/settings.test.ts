import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, serious } from "./browser";
import { Muster } from "./muster";
import { visits } from "./visits";

// An administrator changes what the server goes by, while it runs. One setting is decided by a flag.
let muster: Muster;
let browser: Browser;
const { open, close } = visits(() => ({ browser, muster }));

beforeAll(async () => {
  [muster, browser] = await Promise.all([Muster.start("--demo", "2", "--session-life", "72h"), launch()]);
  await muster.user("anna", "admin");
  await muster.user("vera", "viewer");
});

afterAll(async () => {
  await leave(browser);
  await muster.stop();
});

type Setting = { value: string; source: string; setBy?: string };

const stored = (name: string) => muster.call<Setting>("GET", `/settings/${name}`);

const titles = async () => (await muster.call<{ detail: string }[]>("GET", "/audit")).map(({ detail }) => detail).join("\n");

test("a setting is changed, refused, reset, and asks before it deletes", async () => {
  const page = await open("anna", "settings?tab=general");
  const threshold = page.locator('[data-setting="approvalThreshold"]');
  await threshold.getByText("default").waitFor();
  await threshold.getByRole("button", { name: "Change" }).click();
  await threshold.getByLabel("approvalThreshold").fill("many");
  await threshold.getByRole("button", { name: "Save" }).click();
  await page.getByText(/"many" is no threshold/).first().waitFor();
  await threshold.getByLabel("approvalThreshold").fill("10%");
  await threshold.getByRole("button", { name: "Save" }).click();
  await threshold.getByText("set by anna").waitFor();
  expect(await stored("approvalThreshold")).toMatchObject({ value: "10%", source: "database", setBy: "anna" });

  await threshold.getByRole("button", { name: "Change" }).click();
  await threshold.getByRole("button", { name: "Reset" }).click();
  await threshold.getByText("default").waitFor();

  const kept = page.locator('[data-setting="keepRevisions"]');
  await kept.getByRole("button", { name: "Change" }).click();
  await kept.getByLabel("keepRevisions").fill("20");
  await kept.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/deletes configurations beyond this number at once, but for those of the last week, for good/).waitFor();
  expect((await stored("keepRevisions")).value).toBe("100");
  await dialog.getByLabel("What for").fill("less disk");
  await dialog.getByRole("button", { name: "Save" }).click();
  await kept.getByText("set by anna").waitFor();
  expect(await titles()).toContain('title: "less disk"');
  await kept.getByRole("button", { name: "Change" }).click();
  await kept.getByRole("button", { name: "Reset" }).click();
  await dialog.getByLabel("What for").fill("as it was");
  await dialog.getByRole("button", { name: "Reset" }).click();
  await page.getByText("keepRevisions has its default").waitFor();
  expect(await titles()).toContain('title: "as it was"');
  expect(await serious(page)).toEqual([]);
  await close(page);
});

test("another part of the fleet put back the role that the page had read", async () => {
  await muster.user("otto", "viewer");
  await muster.call("PUT", "/users/otto", { role: "viewer", tags: ["site:lima"] });
  const page = await open("anna", "settings?tab=people");
  await page.getByRole("button", { name: "Change the part of the fleet of otto" }).click();
  await muster.call("PUT", "/users/otto", { role: "operator" });
  await page.locator("tr", { hasText: "otto" }).getByRole("combobox", { name: "Part of the fleet" }).press("Backspace");
  await page.keyboard.press("Tab"); // closes the list of tags
  await page.locator("tr", { hasText: "otto" }).getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByLabel("What for").fill("otto sees all");
  await page.getByRole("dialog").getByRole("button", { name: "Give it" }).click();
  await page.getByText("The part of otto is saved").waitFor();
  expect(await muster.call("GET", "/users/otto")).toMatchObject({ role: "operator", tags: [] });
  expect(await titles()).toContain('title: "otto sees all"');
  await close(page);
});

test("a setting that a flag overrides names the flag", async () => {
  const page = await open("anna", "settings?tab=general");
  const life = page.locator('[data-setting="sessionLife"]');
  await life.getByText("set by flag --session-life").waitFor();
  await life.getByRole("button", { name: "Change" }).click();
  await life.getByLabel("sessionLife").fill("48h");
  await life.getByRole("button", { name: "Save" }).click();
  await life.getByText("The server was started with --session-life, which overrides the stored value 48h").waitFor();
  expect(await stored("sessionLife")).toMatchObject({ value: "72h", source: "flag" });
  await close(page);
});

test("a receiver of notifications is tried and stored, and its URL is never shown", async () => {
  const page = await open("anna", "settings?tab=general");
  const urls = page.locator('[data-setting="notifyURLs"]');
  await urls.getByRole("button", { name: "Change" }).click();
  await urls.getByLabel("notifyURLs", { exact: true }).fill("http://127.0.0.1:9/canary-8812");
  await urls.getByRole("button", { name: "Try it" }).click();
  await page.getByText(/nothing is sent to 127\.0\.0\.1: it is on loopback/).first().waitFor();
  await urls.getByRole("button", { name: "Save" }).click();
  await urls.getByText("set by anna").waitFor();
  await urls.getByText("set", { exact: true }).waitFor();
  await urls.getByRole("button", { name: "Change" }).click();
  expect(await urls.getByLabel("notifyURLs", { exact: true }).inputValue()).toBe("");
  await urls.getByRole("button", { name: "Try it" }).click(); // what is stored
  await page.getByText(/127\.0\.0\.1:9#/).first().waitFor();
  expect(await page.content()).not.toContain("canary");
  await urls.getByRole("button", { name: "Reset" }).click();
  await page.getByText("notifyURLs has its default.").waitFor();

  const mail = page.locator('[data-setting="smtpTLS"]');
  await mail.getByRole("button", { name: "Change" }).click();
  await mail.getByRole("combobox", { name: "smtpTLS" }).click();
  await page.getByRole("option", { name: "starttls" }).click();
  await mail.getByRole("button", { name: "Save" }).click();
  await mail.getByText("set by anna").waitFor();
  expect((await stored("smtpTLS")).value).toBe("starttls");
  expect(await serious(page)).toEqual([]);
  await close(page);
});

test("who registers without an administrator is set, and a key that is stopped says so", async () => {
  await muster.call("POST", "/enroll-keys", { uses: 3, tags: ["lab"] });
  const page = await open("anna", "settings?tab=general");
  const tags = page.locator('[data-setting="enrollKeyTags"]');
  await tags.getByText("any", { exact: true }).waitFor();
  await tags.getByRole("button", { name: "Change" }).click();
  await tags.getByRole("combobox", { name: "enrollKeyTags" }).fill("office");
  await page.keyboard.press("Enter");
  await tags.getByRole("button", { name: "Save" }).click();
  await tags.getByText("set by anna").waitFor();
  expect((await stored("enrollKeyTags")).value).toBe("office");
  await page.goto(`${muster.url}/ui/settings?tab=enrolment`);
  await page.getByText("Stopped by the settings").waitFor();
  await muster.call("POST", "/settings/enrollKeyTags/reset");
  await close(page);
});

test("a viewer reads the settings and changes none", async () => {
  const page = await open("vera", "settings?tab=general");
  await page.locator('[data-setting="soak"]').getByText(/simulated daemons need less/).waitFor();
  expect(await page.getByRole("button", { name: /^Change/ }).count()).toBe(0);
  await close(page);
});

test("a channel, a route and a silence are made while the server runs, and the channel's URL is never shown", async () => {
  const page = await open("anna", "settings?tab=notifications");
  const region = (name: string) => page.getByRole("region", { name });
  const channel = region("New channel, or another address");
  await channel.getByRole("textbox", { name: "Name of the channel" }).fill("chat");
  await channel.getByRole("combobox", { name: "Form" }).click();
  await page.getByRole("option", { name: "Slack" }).click();
  await channel.getByRole("textbox", { name: "URL" }).fill("https://hooks.slack.example/canary-4471");
  await channel.getByRole("button", { name: "Save" }).click();
  await region("Channels").getByRole("row", { name: /^chat/ }).waitFor();

  const route = region("New route, or another in its place");
  await route.getByRole("textbox", { name: "Name of the route" }).fill("night");
  await route.getByRole("combobox", { name: "To the channels" }).fill("chat");
  await page.getByRole("option", { name: "chat" }).click();
  await page.keyboard.press("Escape");
  await route.getByRole("button", { name: "Save" }).click();
  await region("Routes").getByRole("row", { name: /^night/ }).waitFor();

  const until = new Date(Date.now() + 3_600_000).toISOString();
  await muster.call("POST", "/silences", { tags: ["demo"], until, reason: "move" });
  const silence = region("Silences").getByRole("row", { name: /^tag demo/ });
  await page.reload();
  await silence.getByRole("button", { name: "End" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await silence.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain("canary");
  expect(await serious(page)).toEqual([]);
  await close(page);
});

test("a sink is added, tried and removed", async () => {
  const page = await open("anna", "settings?tab=sinks");
  const form = page.getByRole("region", { name: "New sink" });
  await form.getByRole("textbox", { name: "Name" }).fill("archive");
  await form.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: "A file in the server's home" }).click();
  await form.getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("row", { name: /^archive/ });
  await row.getByRole("button", { name: "Test" }).click();
  await page.getByText("archive took the record of trial").waitFor();
  expect(await serious(page)).toEqual([]);
  await row.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No sink yet").waitFor();
  await close(page);
});
