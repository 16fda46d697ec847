import { defineConfig } from "vitest/config";

// The files run one after the other in one process: they share what they import, and the browser.
export default defineConfig({
  test: { include: ["test/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000, fileParallelism: false, isolate: false },
});
