import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/measure.ts", "test/measurepages.ts", "test/errands.ts", "test/states.ts"], testTimeout: 300_000, hookTimeout: 1_800_000, fileParallelism: false },
});
