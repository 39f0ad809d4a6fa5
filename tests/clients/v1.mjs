// The client of the TypeScript SDK 1, which knows the legacy revisions only.
// usage: node v1.mjs BINARY PROJECT STATE-DIR

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { started, work } from './work.mjs';

const places = process.argv.slice(2);
const [, project, state] = places;
const status = join(state, 'status');

const client = new Client({ name: 'v1', version: '0' });
await client.connect(new StdioClientTransport(started(places, status)));
assert.equal(client.getServerVersion().name, 'playwright-warden');
assert.match(client.getInstructions(), /untrusted/);
await work(
  {
    list: () => client.listTools(),
    call: (name, args, signal) => client.callTool({ name, arguments: args }, undefined, { signal }),
    close: () => client.close(),
  },
  project,
  status,
);
console.log('legacy: ok');
