import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/shots.ts", "test/shotstates.ts", "test/shotnight.ts", "test/shotsizes.ts", "test/shotlogin.ts"],
    testTimeout: 1_500_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
