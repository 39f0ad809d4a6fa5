// get_failed_tests on large reports, beside JSON.parse of the same file.
// usage: node read.mjs [ROUNDS]

import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { interleave, median, megabytes, print, timed } from './figures.mjs';
import { report } from './report.mjs';
import { Server } from './server.mjs';

const rounds = Number(process.argv[2] ?? 7);
const project = mkdtempSync(join(tmpdir(), 'warden-bench-'));
const file = join(project, 'test-results/results.json');
mkdirSync(join(project, 'test-results'));

async function call(server) {
  const { failedCount } = await server.call('get_failed_tests', {});
  if (failedCount !== 5) throw new Error(`${failedCount} failures`);
}

for (const bytes of [1e6, 50e6, 300e6]) {
  const out = openSync(file, 'w');
  for (const piece of report(bytes)) writeSync(out, piece);
  closeSync(out);

  const memory = [];
  const server = new Server(project);
  await server.initialize();
  const times = await interleave(rounds, {
    'JSON.parse in node': () => timed(() => JSON.parse(readFileSync(file, 'utf8'))),
    'get_failed_tests, fresh server': async () => {
      const fresh = new Server(project);
      await fresh.initialize();
      const time = await timed(() => call(fresh));
      memory.push(fresh.memory('VmHWM'));
      await fresh.close();
      return time;
    },
    'get_failed_tests, again': () => timed(() => call(server)),
  });
  const notes = { 'get_failed_tests, fresh server': `VmHWM ${megabytes(median(memory))}` };
  print(`report of ${megabytes(statSync(file).size)}`, times, notes);
  await server.close();
}
rmSync(project, { recursive: true });
