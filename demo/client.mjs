// An MCP client, as agents have one: starts the server, calls its tools, shows the answers, and judges them.
//
// Usage: node client.mjs SERVER POLICY STATE_DIR OUTSIDE_FILE

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

import { say, showAnswer, showCall, showCheck, step, tokens, waitFor } from './show.mjs';

const [server, policy, stateDir, outsideFile] = process.argv.slice(2);
const demo = fileURLToPath(new URL('.', import.meta.url));
const policyArguments = ['--policy', policy];
const checks = [];

/** Promises something; the demo fails at its end if it does not hold. */
function promise(text, holds) {
  checks.push([text, Boolean(holds)]);
}

/** A port that nothing listens on. */
async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => listener.once('listening', resolve));
  const { port } = listener.address();
  await new Promise(resolve => listener.close(resolve));
  return port;
}

/** The server's environment; what of it the tests see, the policy says. */
function environment(port) {
  const { DEMO_BROWSER, PLAYWRIGHT_BROWSERS_PATH } = process.env;
  const given = { DEMO_BROWSER, PLAYWRIGHT_BROWSERS_PATH, DEMO_PORT: String(port), DEMO_OUTSIDE_FILE: outsideFile };
  return { ...getDefaultEnvironment(), ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)) };
}

const transport = new StdioClientTransport({
  command: server,
  args: [...policyArguments, '--state-dir', stateDir],
  cwd: demo,
  env: environment(await freePort()),
  stderr: 'pipe',
});
const client = new Client({ name: 'playwright-warden-demo', version: '1.0.0' });
let serverLog = '';
transport.stderr.on('data', text => (serverLog += text));

/** Calls a tool and shows call and answer; with `waiting`, the time that passes too. */
async function call(tool, input, waiting) {
  showCall(tool, input);
  const calling = client.callTool({ name: tool, arguments: input }, { timeout: 330_000 });
  const { content, isError } = await (waiting ? waitFor(waiting, calling) : calling);
  const [{ text }] = content;
  showAnswer(text);
  return { ...JSON.parse(text), text, isError };
}

async function connect() {
  step('The agent connects');
  await client.connect(transport);
  const { name, version } = client.getServerVersion();
  const { tools } = await client.listTools();
  say(`${name} ${version} offers ${tools.map(tool => tool.name).join(', ')}.`);
  say('What they may do is said by a policy, here demo/policy.toml. It is read at the start; no call can change it.');
}

async function runTests() {
  step('It runs the tests');
  const run = await call('run_tests', {}, 'running the tests');
  if (!run.stats) throw new Error(`the tests did not run: ${run.message ?? 'see the answer above'}`);
  const { total, passed, failed, flaky } = run.stats;
  const wrap = run.tests.find(test => test.title.includes('gift wrap'));
  say(
    `${total} tests: ${passed} passed, ${failed} failed, ${flaky} flaky. The first failure is a bug of the shop: with ` +
      `gift wrap the total is "€ NaN". One call and about ${tokens(run.text)} tokens tell where, and what was expected.`,
  );
  promise('the bug of the shop is found and explained', wrap?.status === 'failed' && wrap.error?.includes('€ NaN'));
  promise('4 tests passed, 2 failed, 1 was flaky', passed === 4 && failed === 2 && flaky === 1);
  return run;
}

async function askForFlaky(run) {
  step('It asks for the flaky test');
  const { tests } = await call('get_failed_tests', { runId: run.runId, include: 'flaky' });
  say('It failed, was tried again, and passed. The error is that of the first attempt.');
  const attempts = tests?.[0]?.attempts?.join();
  promise('the flaky test is told with the error of its first attempt', attempts === 'failed,passed');
}

function explainDenied(run) {
  step('One of the tests tried to read a token outside the project');
  const secret = readFileSync(outsideFile, 'utf8').trim();
  const denied = run.tests.find(test => test.at.startsWith('tests/deploy.spec.ts'));
  const hint = run.hints?.find(text => text.includes(outsideFile));
  say(`This program, started by the same user, reads ${outsideFile} without any trouble. The test got:\n`);
  say(denied?.error ?? 'no error', 'error  ');
  say(hint ?? 'none', 'hint   ');
  say('\nThe kernel refused it, not a check of paths: tests, browsers and web servers run under Landlock and seccomp.');
  promise('the test could not read the token', denied?.error?.includes('EACCES'));
  promise('the agent is told that the sandbox refused it', hint);
  promise('the token stands in no answer', !run.text.includes(secret));
}

async function askTooMuch() {
  step('It asks for more than it may');
  const elsewhere = await call('run_tests', { workingDirectory: '/etc' });
  say('Refused by the policy: it allows this project and nothing else.\n');
  const preload = await call('run_tests', { env: { NODE_OPTIONS: '--import=./anything.mjs' } });
  say('Refused whatever the policy says: a variable that would run other code than the tests.\n');
  const unknown = await call('run_tests', { projects: 'chromium' });
  say('Refused and not ignored: without its filter, the call would have run the whole suite.');
  promise('another directory is refused', elsewhere.isError && elsewhere.rule === 'dirs.allow');
  promise('NODE_OPTIONS is refused', preload.isError && preload.code === 'policy_denied');
  promise('an unknown argument is refused', unknown.isError && unknown.code === 'invalid_arguments');
}

function tellSandbox({ sandbox }) {
  step('What the sandbox enforced');
  const missing = sandbox.missing?.length ? `, without ${sandbox.missing.join(', ')}` : '';
  say(`${sandbox.level}${missing}`, 'told to the agent     ');
  const checked = execFileSync(server, ['--check-policy', ...policyArguments, '--format', 'json'], { cwd: demo });
  const { enforced, landlock_abi: abi } = JSON.parse(checked).sandbox;
  const layers = enforced.map(([what, layer]) => `${what.replaceAll('_', ' ')} by ${layer}`).join(', ');
  say(`${layers} (Landlock ABI ${abi}), tried on this system by --check-policy`, 'told to the operator  ');
  say('\nThe policy requires the sandbox: on a system that lacks it, no test would have run.');
  promise('all that the policy asks of the sandbox is enforced', sandbox.level === 'full');
}

try {
  await connect();
  const run = await runTests();
  await askForFlaky(run);
  explainDenied(run);
  await askTooMuch();
  tellSandbox(run);
  step('What was promised');
  for (const [text, holds] of checks) showCheck(holds, text);
  const broken = checks.filter(([, holds]) => !holds);
  if (broken.length > 0) throw new Error(`${broken.length} of ${checks.length} promises do not hold`);
  say('\nNext: README.md says how to give this server to your agent, policy.example.toml all that a policy can say.');
} catch (error) {
  console.error(`\n   The demo failed: ${error.message}\n\n${serverLog.trim().replace(/^/gm, '   server: ')}`);
  process.exitCode = 1;
} finally {
  await client.close();
}
