// From the start of the server to its first answer, beside a `node` that does nothing.
// usage: node startup.mjs [ROUNDS]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { interleave, median, megabytes, print, timed } from './figures.mjs';
import { Server } from './server.mjs';

const rounds = Number(process.argv[2] ?? 40);
const directory = mkdtempSync(join(tmpdir(), 'warden-bench-'));
const memory = { initialize: [], 'initialize, tools/list': [] };

const idle = (program, ...args) => () => timed(() => once(spawn(program, args, { stdio: 'ignore' }), 'exit'));

async function opened(name, open) {
  let server;
  const time = await timed(async () => {
    server = new Server(directory);
    await open(server);
  });
  memory[name].push(server.memory('VmHWM'));
  await server.close();
  return time;
}

const times = await interleave(rounds, {
  'node -e 0': idle(process.execPath, '-e', '0'),
  '/bin/true': idle('/bin/true'),
  initialize: () => opened('initialize', server => server.initialize()),
  'initialize, tools/list': () =>
    opened('initialize, tools/list', async server => {
      await server.initialize();
      await server.ask('tools/list', {});
    }),
});
const notes = Object.fromEntries(Object.entries(memory).map(([name, all]) => [name, `VmHWM ${megabytes(median(all))}`]));
print('start', times, notes);
rmdirSync(directory);
