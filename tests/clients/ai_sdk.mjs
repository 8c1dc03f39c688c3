// SPDX-License-Identifier: Apache-2.0
// The AI SDK's client: ai_sdk.mjs http URL | stdio COMMAND ARGUMENT...

import assert from 'node:assert/strict';
import {createMCPClient} from '@ai-sdk/mcp';
import {StdioMCPTransport} from '@ai-sdk/mcp/mcp-stdio';
import {talk} from './talk.mjs';

const [way, target, ...args] = process.argv.slice(2);
const transport = way === 'stdio'
  ? new StdioMCPTransport({command: target, args, env: {...process.env}})
  : {type: 'http', url: target};
const client = await createMCPClient({transport});
assert.equal(client.initializeResult.protocolVersion, '2026-07-28');

// Where a model would call them: the tools made from our schemas, executed.
const tools = await client.tools();
const made = await tools.run_python.execute({code: 'print(6 * 7)'}, {toolCallId: 'call-1', messages: []});
assert.equal(made.structuredContent?.stdout ?? made.stdout, '42\n');

await talk({
  tools: async () => (await client.listTools()).tools,
  call: (name, given, {signal} = {}) => client.callTool({name, arguments: given, options: {signal}}),
  read: (uri) => client.readResource({uri}),
  // It hands progress to nobody, and a call can only be aborted when a first line has been seen.
}, {without: ['lines_are_progress', 'a_cancelled_call_ends_its_run']});
await client.close();
