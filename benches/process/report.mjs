// Reports as Playwright's json reporter writes them, of any size.
//
// usage: node report.mjs BYTES > results.json
// In: a size. Out: a report of about that many bytes, with five failures: one test in ten prints, every test has steps.

import { pathToFileURL } from 'node:url';

const FAILURES = 5;
const PER_FILE = 40;

const error = line => ({
  message:
    "\u001b[2mexpect(\u001b[22m\u001b[31mlocator\u001b[39m\u001b[2m).\u001b[22mtoHaveText\u001b[2m(\u001b[22m\u001b[32mexpected\u001b[39m\u001b[2m)\u001b[22m failed\n\n" +
    "Locator: getByTestId('total')\nExpected: \u001b[32m\"€ 42.00\"\u001b[39m\nReceived: \u001b[31m\"€ NaN\"\u001b[39m\nTimeout:  5000ms\n\n" +
    "Call log:\n\u001b[2m  - waiting for getByTestId('total')\u001b[22m\n",
  stack: `Error: expect(locator).toHaveText(expected) failed\n    at /srv/shop/tests/shop.spec.ts:${line}:46`,
  location: { file: '/srv/shop/tests/shop.spec.ts', column: 46, line },
  snippet: `  ${line - 1} |   await page.goto('/cart');\n> ${line} |   await expect(page.getByTestId('total')).toHaveText('€ 42.00');\n`,
});

const step = (title, duration) => ({ title, duration });

function result(failed, line, prints) {
  const told = failed ? error(line) : undefined;
  return {
    workerIndex: 0,
    parallelIndex: 0,
    status: failed ? 'failed' : 'passed',
    duration: 412,
    error: told,
    errors: failed ? [{ location: told.location, message: told.message }] : [],
    stdout: prints ? [{ text: `request ${line}: GET /api/prices → 200\n`.repeat(8) }] : [],
    stderr: [],
    retry: 0,
    steps: [step("Navigate to '/cart'", 120), step("Click getByRole('button', { name: 'Pay' })", 80), step('Expect "toHaveText"', 200)],
    startTime: '2026-11-30T10:00:00.000Z',
    annotations: [],
    attachments: failed ? [{ name: 'screenshot', contentType: 'image/png', path: '/srv/shop/test-results/shop/test-failed-1.png' }] : [],
    errorLocation: told?.location,
  };
}

function spec(number) {
  const failed = number < FAILURES;
  const line = 10 + (number % PER_FILE) * 12;
  return {
    title: `customer ${number} pays by card`,
    ok: !failed,
    tags: number % 7 ? [] : ['smoke'],
    tests: [
      {
        timeout: 30000,
        annotations: [],
        expectedStatus: 'passed',
        projectId: 'chromium',
        projectName: 'chromium',
        results: [result(failed, line, number % 10 === 0)],
        status: failed ? 'unexpected' : 'expected',
      },
    ],
    id: `${String(number).padStart(8, '0')}5f3759df0000-${String(number).padStart(20, 'a')}`,
    file: `shop-${Math.floor(number / PER_FILE)}.spec.ts`,
    line,
    column: 5,
  };
}

/** The report in pieces. */
export function* report(bytes) {
  const config = { configFile: '/srv/shop/playwright.config.ts', rootDir: '/srv/shop/tests', version: '1.65.1', workers: 2 };
  const projects = [{ id: 'chromium', name: 'chromium', testDir: '/srv/shop/tests', outputDir: '/srv/shop/test-results' }];
  yield `{\n  "config": ${JSON.stringify({ ...config, projects }, null, 2)},\n  "suites": [\n`;
  let written = 0;
  let number = 0;
  while (number === 0 || written < bytes) {
    const file = `shop-${number / PER_FILE}.spec.ts`;
    const specs = Array.from({ length: PER_FILE }, () => spec(number++));
    const text = JSON.stringify({ title: file, file, column: 0, line: 0, specs }, null, 2);
    const piece = number > PER_FILE ? `,\n${text}` : text;
    written += Buffer.byteLength(piece);
    yield piece;
  }
  const stats = { startTime: '2026-11-30T10:00:00.000Z', duration: 99000, expected: number - FAILURES, skipped: 0, unexpected: FAILURES, flaky: 0 };
  yield `\n  ],\n  "errors": [],\n  "stats": ${JSON.stringify(stats)}\n}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const piece of report(Number(process.argv[2]))) process.stdout.write(piece);
}
