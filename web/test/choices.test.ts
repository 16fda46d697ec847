import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, leave, logIn, newPage } from "./browser";
import { Daemon } from "./daemon";
import { Muster } from "./muster";
import { until } from "./until";

let muster: Muster;
let daemon: Daemon;
let browser: Browser;

beforeAll(async () => {
  [muster, daemon, browser] = await Promise.all([Muster.start(), Daemon.start(), launch()]);
  await muster.user("anna", "admin");
});

afterAll(async () => {
  await leave(browser);
  await Promise.all([muster.stop(), daemon.remove()]);
});

interface Plan {
  digest: string;
  changes: { key: string; class: string }[];
}

const plan = () => muster.call<Plan>("GET", `/devices/${daemon.id}/plan`);
const keys = async () => (await plan()).changes.map(({ key }) => key).join();

test("a plan is answered key by key: a removal by its name, and a withdrawn password by a value that is offered", async () => {
  await muster.call("PUT", `/devices/${daemon.id}`, {
    label: "laptop",
    apiKey: daemon.apiKey,
    apiAddress: "127.0.0.1",
    apiPort: daemon.port,
  });
  await muster.call("PUT", `/devices/${daemon.id}/tags/it`);
  const made: number[] = [];
  for (const [key, text] of [
    ["gui.password", '"correct horse"'],
    ["folders.gone", '{path: "~/gone"}'],
  ] as const) {
    const { id } = await muster.call<{ id: number }>("POST", "/templates", { label: key, priority: 1, op: "set", key, template: text });
    await muster.call("PUT", `/templates/${id}/tags/it`);
    made.push(id);
  }
  await until("the password is held and the folder made", async () => (await keys()) === "gui.password");
  await until("the password is set", async () => {
    const { digest, changes } = await plan();
    if (changes.length === 0) return true; // An answer is lost where the API of the daemon starts again.
    return muster.call("POST", `/devices/${daemon.id}/apply`, { digest, consent: ["gui.password"] }).then(
      () => true,
      () => false, // The plan is another by now.
    );
  });
  await until("all is there", async () => (await keys()) === "");
  for (const id of made) await muster.call("DELETE", `/templates/${id}`);
  await until("both wait", async () => (await plan()).changes.filter((one) => one.class === "held").length === 2);

  const page = await newPage(browser);
  await logIn(page, muster, "anna", `devices/${daemon.id}/plan`);
  const answersOf = (key: string) => page.getByRole("listitem").filter({ hasText: key });
  const [folder, password] = [answersOf("folders.gone"), answersOf("gui.password")];
  await folder.getByLabel("Remove it").check();
  await password.getByText("The password becomes empty").waitFor();
  await password.getByLabel("Keep what is there").check();
  await password.getByLabel("no password").check();
  await page.getByRole("button", { name: "Apply with these answers" }).click();
  const dialog = page.getByRole("dialog", { name: "Apply with these answers?" });
  await dialog.getByText("folders.gone: Remove it").waitFor();
  await dialog.getByText("gui.password: no password").waitFor();
  await dialog.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText("Nothing to change").waitFor();
  const given = await muster.call<{ key: string; answer: string; value?: string }[]>("GET", "/consents/given");
  expect(given.slice(0, 2).map(({ key, answer, value }) => `${key} ${answer} ${value ?? ""}`).sort()).toEqual([
    "folders.gone consent ",
    "gui.password value no password",
  ]);
  await page.context().close();
});
