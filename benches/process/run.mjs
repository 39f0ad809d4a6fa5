// run_tests on a suite of one trivial test, beside Playwright's own command lines.
// usage: node run.mjs [ROUNDS]

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { interleave, print, timed } from './figures.mjs';
import { playwright, Server } from './server.mjs';

const rounds = Number(process.argv[2] ?? 8);
const project = mkdtempSync(join(tmpdir(), 'warden-bench-'));
execFileSync('cp', ['-a', playwright, join(project, 'node_modules')]);
mkdirSync(join(project, 'tests'));
writeFileSync(join(project, 'package.json'), '{ "name": "bench", "private": true }\n');
writeFileSync(join(project, 'playwright.config.ts'), "export default { testDir: './tests', workers: 1 };\n");
writeFileSync(join(project, 'tests/one.spec.ts'), "import { test } from '@playwright/test';\ntest('one', () => {});\n");

const command = (program, ...args) => () =>
  timed(async () => {
    const [status] = await once(spawn(program, args, { cwd: project, stdio: 'ignore' }), 'exit');
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}`);
  });

async function call(server) {
  const { ok } = await server.call('run_tests', {});
  if (!ok) throw new Error('the run failed');
}

const server = new Server(project);
await server.initialize();
const works = {
  'npx playwright test': command('npx', 'playwright', 'test'),
  'node cli.js test': command(process.execPath, 'node_modules/@playwright/test/cli.js', 'test'),
  run_tests: () => timed(() => call(server)),
  'server started, run_tests': () =>
    timed(async () => {
      const fresh = new Server(project);
      await fresh.initialize();
      await call(fresh);
      await fresh.close();
    }),
};
// The first round fills the caches of transformed code.
await interleave(1, works);
print('one trivial test', await interleave(rounds, works));
await server.close();
rmSync(project, { recursive: true });
