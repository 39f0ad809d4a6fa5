// The server as a process: started, asked line by line, looked at from outside, closed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const tree = fileURLToPath(new URL('../..', import.meta.url));

/** Playwright as the suites use it. */
export const playwright = join(tree, 'tests/fixtures/playwright/1.65.1/node_modules');

/** The release binary; `WARDEN` names another one. */
export const binary = process.env.WARDEN ?? join(tree, 'target/release/playwright-warden');
if (!existsSync(binary)) throw new Error(`${binary} is missing: cargo build --release`);

export class Server {
  #waiting = new Map();
  #next = 1;

  constructor(cwd) {
    this.state = mkdtempSync(join(tmpdir(), 'warden-bench-'));
    this.process = spawn(binary, ['--state-dir', this.state], { cwd, stdio: ['pipe', 'pipe', 'ignore'] });
    createInterface({ input: this.process.stdout }).on('line', line => {
      const message = JSON.parse(line);
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    });
  }

  ask(method, params) {
    const id = this.#next++;
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise(answered => this.#waiting.set(id, answered));
  }

  initialize() {
    return this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '0' } });
  }

  async call(name, args) {
    const { result } = await this.ask('tools/call', { name, arguments: args });
    if (!result || result.isError) throw new Error(result?.content[0].text);
    return result.structuredContent;
  }

  /** A line of /proc/<pid>/status in bytes: VmRSS, or its high-water mark VmHWM. */
  memory(key) {
    const status = readFileSync(`/proc/${this.process.pid}/status`, 'utf8');
    return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)[1]) * 1024;
  }

  async close() {
    this.process.stdin.end();
    if (this.process.exitCode === null) await once(this.process, 'exit');
    rmSync(this.state, { recursive: true });
  }
}
