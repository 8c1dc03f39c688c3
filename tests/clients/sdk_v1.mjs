// SPDX-License-Identifier: Apache-2.0
// The first generation of the MCP SDK: sdk_v1.mjs http URL | stdio COMMAND ARGUMENT...

import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {talk} from './talk.mjs';

const [way, target, ...args] = process.argv.slice(2);
const transport = way === 'stdio'
  ? new StdioClientTransport({command: target, args, env: {...process.env}})
  : new StreamableHTTPClientTransport(new URL(target));
const client = new Client({name: 'sdk-v1', version: '1.0.0'});

await client.connect(transport);
await talk({
  tools: async () => (await client.listTools()).tools,
  call: (name, given, {onLine, signal} = {}) =>
    client.callTool({name, arguments: given}, undefined, {onprogress: onLine, signal}),
  read: (uri) => client.readResource({uri}),
});
if (way === 'http') await transport.terminateSession();
await client.close();
