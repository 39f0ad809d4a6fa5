// What every client does with the server, whichever library it is made with.
//
// In: a connected client as { list, call, close }, and the file in which the server's exit status will stand.
// Out: nothing, or a failed assertion. The project has a test that passes, one that fails, and one without an end.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Starts the server through a shell, which tells how it ended unless a signal ended the shell too. */
export function started([binary, project, state], status) {
  rmSync(status, { force: true });
  const script = '"$0" "$@"; echo $? > "$STATUS"';
  const args = ['-c', script, binary, '--state-dir', state];
  return { command: '/bin/sh', args, cwd: project, env: { PATH: process.env.PATH, STATUS: status }, stderr: 'ignore' };
}

const invalidParams = -32602;

export async function work(client, project, status) {
  const { tools } = await client.list();
  const names = tools.map(tool => tool.name);
  assert.deepEqual(names, ['run_tests', 'get_failed_tests', 'get_policy']);

  // Both libraries hold structured content against the tool's output schema.
  const policy = await client.call('get_policy', {});
  assert.deepEqual(policy.structuredContent.directories.allowed, [project]);

  const ran = await client.call('run_tests', { tag: '@passes|@fails' });
  assert.equal(ran.isError ?? false, false);
  assert.deepEqual(JSON.parse(ran.content[0].text), ran.structuredContent);
  assert.equal(ran.structuredContent.state, 'failed');
  assert.deepEqual(ran.structuredContent.tests.map(test => test.title), ['fails @fails']);

  const read = await client.call('get_failed_tests', { runId: ran.structuredContent.runId });
  assert.equal(read.structuredContent.failedCount, 1);
  assert.match(read.structuredContent.tests[0].error, /Expected: 2/);

  const refused = await client.call('run_tests', { workingDirectory: '/etc' });
  assert.equal(refused.isError, true);
  assert.equal(JSON.parse(refused.content[0].text).code, 'policy_denied');

  await assert.rejects(client.call('no_such_tool', {}), error => error.code === invalidParams);

  const begun = join(project, 'begun');
  rmSync(begun, { force: true });
  const abort = new AbortController();
  const endless = client.call('run_tests', { tag: '@endless' }, abort.signal);
  const aborted = assert.rejects(endless, /stop it/);
  while (!existsSync(begun)) await sleep(20);
  abort.abort(new Error('stop it'));
  await aborted;
  // The project is free again as soon as the run is over.
  let next;
  do {
    await sleep(20);
    next = await client.call('run_tests', { tag: '@passes' });
  } while (next.isError && JSON.parse(next.content[0].text).code === 'run_active');
  assert.equal(next.structuredContent?.ok, true, next.content[0].text);

  await client.close();
  // A server that does not end by itself is killed by the library, and then there is no status.
  assert.equal(readFileSync(status, 'utf8'), '0\n');
}
