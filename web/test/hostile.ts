import type { Page } from "playwright-core";

/** hostile is a text that is markup, and has characters that turn or hide others. */
export const hostile = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>\u202Egnp.exe\u200B🙂`;

/** stranger is the ID of a device that no test runs. */
export const stranger = "MFZWI3D-BONSGYC-YLTMRWG-C43ENR5-QXGZDMM-FZWI3DP-BONSGYY-LTMRWAD";

/** asks is what waits when a device with a name of 10 KB asks to be let in, as a server without bounds would tell it. */
export const asks = (deviceID: string) => ({
  ...{ id: "hostile", cause: "pendingDevice", severity: "warning", subject: hostile + "p".repeat(10 << 10) },
  ...{ reason: hostile + "q".repeat(10 << 10), next: "Let it in, or dismiss it.", since: null, from: null, to: null },
  ...{ rollout: 0, templates: [], deviceCount: 1, actions: [] },
  devices: [{ deviceID, label: hostile + "r".repeat(10 << 10), detail: hostile + "s".repeat(10 << 10), values: {} }],
});

/** broken tells where a page is wider than its window, or a text is not cut: the highest ones may scroll. */
export function broken(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    if (document.documentElement.scrollWidth > window.innerWidth) found.push("the page is wider than its window");
    for (const element of document.querySelectorAll("main :not(:has(*)):not(.cm-editor *)")) {
      const { height } = element.getBoundingClientRect();
      const isText = element.textContent.length > 1000 && !(element instanceof HTMLTextAreaElement);
      if (isText && height > 330) found.push(`${element.outerHTML.slice(0, 60)} is ${height} high`);
    }
    return found;
  });
}
