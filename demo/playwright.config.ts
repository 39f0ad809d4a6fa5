import { defineConfig, devices } from '@playwright/test';

const port = process.env.DEMO_PORT ?? '4173';
const baseURL = `http://127.0.0.1:${port}`;

export default defineConfig({
  testDir: 'tests',
  fullyParallel: true,
  workers: 2,
  retries: 1,
  expect: { timeout: 2_000 },
  use: {
    baseURL,
    screenshot: 'only-on-failure',
    trace: 'retain-on-failure',
    // Absent: Playwright's own browser.
    launchOptions: { executablePath: process.env.DEMO_BROWSER },
  },
  projects: [{ name: 'chromium', use: devices['Desktop Chrome'] }],
  webServer: { command: 'node site/server.mjs', url: baseURL, env: { PORT: port } },
});
