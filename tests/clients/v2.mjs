// The client of the TypeScript SDK 2: without negotiation, negotiating, and pinned to a revision.
// usage: node v2.mjs BINARY PROJECT STATE-DIR

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { started, work } from './work.mjs';

const places = process.argv.slice(2);
const [, project, state] = places;
const status = join(state, 'status');

function connect(mode) {
  const client = new Client({ name: 'v2', version: '0' }, { versionNegotiation: { mode } });
  return { client, opening: client.connect(new StdioClientTransport(started(places, status))) };
}

for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }]) {
  const { client, opening } = connect(mode);
  await opening;
  assert.equal(client.getServerVersion().name, 'playwright-warden');
  assert.match(client.getInstructions(), /untrusted/);
  console.log(`${mode.pin ? `pin ${mode.pin}` : mode}: ${client.getNegotiatedProtocolVersion()}`);
  await work(
    {
      list: () => client.listTools(),
      call: (name, args, signal) => client.callTool({ name, arguments: args }, { signal }),
      close: () => client.close(),
    },
    project,
    status,
  );
}

const unsupported = '2099-01-01';
const { client, opening } = connect({ pin: unsupported });
await assert.rejects(opening, error => {
  console.log(`pin ${unsupported}: ${error.code}`);
  return true;
});
await client.close();
