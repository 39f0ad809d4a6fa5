// --check-policy as a whole process, beside a `node` that does nothing, and what of it is the try of the sandbox.
// usage: node check.mjs [ROUNDS]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { interleave, print, timed } from './figures.mjs';
import { binary } from './server.mjs';

const rounds = Number(process.argv[2] ?? 40);
const directory = mkdtempSync(join(tmpdir(), 'warden-bench-'));
const policy = join(directory, 'policy.toml');
copyFileSync(fileURLToPath(new URL('../../docs/policy.strict.toml', import.meta.url)), policy);
chmodSync(policy, 0o600);

const ended = (program, args, input = '') => () =>
  timed(async () => {
    const child = spawn(program, args, { cwd: directory, stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.on('error', () => {}).end(input);
    await once(child, 'exit');
  });
const check = (...args) => ended(binary, ['--check-policy', '--policy', policy, '--state-dir', join(directory, 'state'), ...args]);
const denied = JSON.stringify({ tool: 'run_tests', arguments: { workingDirectory: '/etc' } });
// What `--check-policy` has a child of its own do to itself.
const plan = {
  mode: 'require', read: [], write: [], project: 'read-only', outputs: [], protect: [], network: 'none',
  unix_sockets: 'deny', limits: { open_files: null, file_bytes: null, memory_bytes: null },
};

const times = await interleave(rounds, {
  'node -e 0': ended(process.execPath, ['-e', '0']),
  '/bin/true': ended('/bin/true', []),
  'the try of the sandbox alone': ended(binary, ['confine'], JSON.stringify({ plan, invocation: null })),
  '--check-policy, strict sample': check(),
  'the same as JSON, with a call that is denied': check('--format', 'json', '--call', denied),
});
print('check', times);
rmSync(directory, { recursive: true });
