import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.ts", "tests/ts/**/*.test.ts"],
    passWithNoTests: false,
    testTimeout: 60_000,
  },
});
