// Whether one server that reads reports again and again grows.
// usage: node memory.mjs [CALLS]

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { megabytes } from './figures.mjs';
import { report } from './report.mjs';
import { Server } from './server.mjs';

const calls = Number(process.argv[2] ?? 200);
console.log('\n| report | call | VmRSS | VmHWM |\n|---|---|---|---|');
for (const bytes of [1e6, 20e6]) {
  const project = mkdtempSync(join(tmpdir(), 'warden-bench-'));
  mkdirSync(join(project, 'test-results'));
  writeFileSync(join(project, 'test-results/results.json'), [...report(bytes)].join(''));
  const server = new Server(project);
  await server.initialize();
  for (let call = 1; call <= calls; call++) {
    await server.call('get_failed_tests', {});
    if ([1, 10, Math.floor(calls / 2), calls].includes(call)) {
      const [now, most] = ['VmRSS', 'VmHWM'].map(key => megabytes(server.memory(key)));
      console.log(`| ${megabytes(bytes)} | ${call} | ${now} | ${most} |`);
    }
  }
  await server.close();
  rmSync(project, { recursive: true });
}
