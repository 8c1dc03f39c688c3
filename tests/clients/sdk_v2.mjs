// SPDX-License-Identifier: Apache-2.0
// The second generation of the MCP SDK: sdk_v2.mjs legacy|modern|auto http URL | stdio COMMAND ARGUMENT...

import assert from 'node:assert/strict';
import {Client, StreamableHTTPClientTransport} from '@modelcontextprotocol/client';
import {StdioClientTransport} from '@modelcontextprotocol/client/stdio';
import {talk} from './talk.mjs';

const [era, way, target, ...args] = process.argv.slice(2);
const modes = {legacy: 'legacy', auto: 'auto', modern: {pin: '2026-07-28'}};
const transport = way === 'stdio'
  ? new StdioClientTransport({command: target, args, env: {...process.env}})
  : new StreamableHTTPClientTransport(new URL(target));
const client = new Client({name: 'sdk-v2', version: '1.0.0'}, {versionNegotiation: {mode: modes[era]}});

await client.connect(transport);
// Asked which it would rather have, a client of today must find the newer era here.
assert.equal(client.getProtocolEra(), era === 'legacy' ? 'legacy' : 'modern');
await talk({
  tools: async () => (await client.listTools()).tools,
  call: (name, given, {onLine, signal} = {}) =>
    client.callTool({name, arguments: given}, {onprogress: onLine, signal}),
  read: (uri) => client.readResource({uri}),
});
await client.close();
