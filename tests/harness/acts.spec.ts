// Does the acts in `acts.json` and writes what each came to into the output directory: `ok`, what was found, or the name of
// the error.
import { test } from '@playwright/test';
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

type Act = (...args: string[]) => unknown;

const acts: Record<string, Act> = {
  'read': file => void fs.readFileSync(file),
  'list': directory => void fs.readdirSync(directory),
  'write': file => fs.appendFileSync(file, 'written'),
  'mkdir': directory => void fs.mkdirSync(directory, { recursive: true }),
  'remove': file => fs.rmSync(file),
  'rename': (from, to) => fs.renameSync(from, to),
  'copy': (from, to) => fs.copyFileSync(from, to),
  'symlink': (target, link) => fs.symlinkSync(target, link),
  'execute': (...args) => run(args),
  'attack': (...args) => run(['./attack', ...args]),
  'signal': pid => void process.kill(Number(pid), 0),
  'environ': (pid, text) => fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes(text) ? 'found' : 'not found',
  'variable': name => process.env[name] ?? 'none',
  'home': () => os.homedir(),
  'tmpdir': () => os.tmpdir(),
  'connect-tcp': port => connect({ host: '127.0.0.1', port: Number(port) }),
  'connect-unix': socket => connect({ path: socket }),
  'fetch': async url => void await (await fetch(url)).text(),
  'listen-tcp': () => listen({ host: '127.0.0.1', port: 0 }),
  'listen-unix': socket => listen({ path: socket }),
  'send-udp': port => send(Number(port)),
};

function run([program, ...args]: string[]): string {
  const { error, stdout, stderr, status } = childProcess.spawnSync(program, args, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`exit status ${status}: ${stderr}`);
  return stdout.trim();
}

function connect(options: net.NetConnectOpts): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(options, () => { socket.destroy(); resolve(); });
    socket.on('error', reject);
  });
}

function listen(options: net.ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on('error', reject);
    server.listen(options, () => server.close(() => resolve()));
  });
}

function send(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket('udp4');
    socket.on('error', reject);
    socket.send('hello', port, '127.0.0.1', error => { socket.close(); error ? reject(error) : resolve(); });
  });
}

async function outcome([name, ...args]: string[]): Promise<string> {
  try {
    return String(await acts[name](...args) ?? 'ok');
  } catch (error) {
    return error.cause?.code ?? error.code ?? String(error);
  }
}

test('acts', async ({}, testInfo) => {
  const outcomes: string[] = [];
  for (const act of JSON.parse(fs.readFileSync('acts.json', 'utf8')))
    outcomes.push(await outcome(act));
  fs.mkdirSync(testInfo.project.outputDir, { recursive: true });
  fs.writeFileSync(path.join(testInfo.project.outputDir, 'outcomes.json'), JSON.stringify(outcomes));
});
