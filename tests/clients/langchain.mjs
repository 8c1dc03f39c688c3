// SPDX-License-Identifier: Apache-2.0
// LangChain's adapters: langchain.mjs http URL | stdio COMMAND ARGUMENT...
//
// They turn our tools into theirs, so a result is no longer the protocol's own: what is checked here
// is what arrives at a model.

import assert from 'node:assert/strict';
import {MultiServerMCPClient} from '@langchain/mcp-adapters';

const [way, target, ...args] = process.argv.slice(2);
const server = way === 'stdio'
  ? {transport: 'stdio', command: target, args, env: {...process.env}}
  : {transport: 'http', url: target};
const client = new MultiServerMCPClient({mcpServers: {viv: server}, throwOnLoadError: true, useStandardContentBlocks: true});
const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
let tried = 0;

// A call as an agent makes it; the message it gets back.
async function ask(name, given) {
  return tools.get(name).invoke({type: 'tool_call', id: 'call-1', name, args: given});
}

async function check(name, body) {
  tried++;
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name}: ${String(error.message).split('\n').slice(0, 12).join(' | ')}`);
  }
}

await check('the_tools_are_loaded', async () => {
  for (const name of ['run_python', 'create_session', 'write_file', 'explore']) assert.ok(tools.has(name), name);
  assert.ok(tools.get('run_python').description);
});

await check('what_code_prints_reaches_the_model', async () => {
  const message = await ask('run_python', {code: 'print(6 * 7)'});
  assert.equal(message.status, 'success');
  assert.match(JSON.stringify(message.content), /42/);
});

await check('an_exception_reaches_the_model', async () => {
  const told = await ask('run_python', {code: '1 / 0'}).then((message) => JSON.stringify(message), (error) => error.message);
  assert.match(told, /ZeroDivisionError/);
});

await check('a_figure_reaches_the_model', async () => {
  const message = await ask('run_python', {code: 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()'});
  assert.match(JSON.stringify(message.content), /iVBORw0KGgo/);
});

await check('a_session_keeps_its_variables', async () => {
  const made = await ask('create_session', {});
  const id = JSON.stringify(made).match(/ses_[a-z0-9]+/)[0];
  await ask('run_python', {code: 'x = 41', session_id: id});
  const message = await ask('run_python', {code: 'print(x + 1)', session_id: id});
  assert.match(JSON.stringify(message.content), /42/);
  await ask('close_session', {session_id: id});
});

console.log(`${tried} tried`);
await client.close();
