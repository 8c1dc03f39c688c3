// SPDX-License-Identifier: Apache-2.0
// Things that every MCP client must be able to do here.
//
// A script hands over an adapter of its own client,
//     { era, tools(), call(name, args, {onLine, signal}), read(uri) }
// where call() gives back the result of tools/call as it stands in the protocol, and talk() goes
// through everything below. It prints `ok NAME` or `not ok NAME: why` for each, and the number of
// those that were tried; a check that throws does not keep the others from being tried.

import assert from 'node:assert/strict';

const TOOLS = ['run_python', 'create_session', 'list_sessions', 'close_session', 'checkpoint', 'rollback',
  'fork_session', 'list_checkpoints', 'write_file', 'read_file', 'list_files', 'list_variables', 'explore'];
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

export function textOf(result) {
  return result.content.filter((item) => item.type === 'text').map((item) => item.text).join('\n');
}

async function good(client, name, args, options) {
  const result = await client.call(name, args, options);
  assert.ok(!result.isError, `${name}: ${textOf(result)}`);
  return result;
}

// The refusal of a call: as a result, or as an error of the protocol.
async function refusal(client, name, args) {
  let result;
  try {
    result = await client.call(name, args);
  } catch (error) {
    return error.message;
  }
  assert.equal(result.isError, true, `${JSON.stringify(args)} was not refused`);
  return textOf(result);
}

async function newSession(client) {
  const {session_id: id} = (await good(client, 'create_session', {})).structuredContent;
  assert.match(id, /^ses_/);
  return id;
}

// The value of an expression as the run sees it.
async function valueOf(client, id, expression) {
  const result = await good(client, 'run_python', {code: `print(${expression})`, session_id: id});
  return result.structuredContent.stdout.trim();
}

const checks = {
  async every_tool_is_listed_with_its_schemas(client) {
    const tools = new Map((await client.tools()).map((tool) => [tool.name, tool]));
    for (const name of TOOLS) {
      const tool = tools.get(name);
      assert.ok(tool, `${name} is not listed`);
      assert.ok(tool.description, `${name} has no description`);
      assert.equal(tool.inputSchema.type, 'object', name);
      assert.equal(tool.outputSchema?.type, 'object', name);
      assert.equal(typeof tool.annotations?.readOnlyHint, 'boolean', name);
    }
    assert.equal(tools.get('list_variables').annotations.readOnlyHint, true);
    assert.deepEqual(tools.get('run_python').inputSchema.required ?? [], ['code']);
  },

  async what_code_prints_comes_back(client) {
    const result = await good(client, 'run_python', {code: 'print(6 * 7, "ä€😀")'});
    assert.equal(result.structuredContent.stdout, '42 ä€😀\n');
    assert.match(textOf(result), /42 ä€😀/);
  },

  async an_exception_is_an_error_of_the_tool_that_tells_all(client) {
    const result = await client.call('run_python', {code: 'print("so far")\n1 / 0'});
    assert.equal(result.isError, true);
    assert.match(textOf(result), /ZeroDivisionError/);
    assert.match(textOf(result), /so far/);
  },

  async a_run_past_its_timeout_is_an_error_of_the_tool(client) {
    const result = await client.call('run_python', {code: 'print("so far", flush=True)\nwhile True: pass', timeout_ms: 300});
    assert.equal(result.isError, true);
    assert.match(textOf(result), /300 ?ms/);
    assert.match(textOf(result), /so far/);
  },

  async wrong_arguments_are_named_and_nothing_runs(client) {
    for (const [args, word] of [[{}, /code/], [{code: ['print(1)']}, /code/], [{code: 'print(1)', cod: 1}, /cod/]]) {
      assert.match(await refusal(client, 'run_python', args), word);
    }
  },

  async an_unknown_tool_is_refused(client) {
    assert.match(await refusal(client, 'no_such_tool', {}), /no_such_tool/);
  },

  async a_session_keeps_its_variables(client) {
    const id = await newSession(client);
    const first = await good(client, 'run_python', {code: 'x = 41', session_id: id});
    assert.equal(first.structuredContent.session_id, id);
    assert.equal(await valueOf(client, id, 'x + 1'), '42');
    const {sessions} = (await good(client, 'list_sessions', {})).structuredContent;
    assert.ok(sessions.some((session) => session.id === id));
    const {vars} = (await good(client, 'list_variables', {session_id: id})).structuredContent;
    assert.ok(vars.some((one) => one.name === 'x' && one.type === 'int'));
    await good(client, 'close_session', {session_id: id});
    const gone = await client.call('run_python', {code: 'x', session_id: id});
    assert.equal(gone.isError, true);
  },

  async a_session_goes_back_and_branches(client) {
    const id = await newSession(client);
    await good(client, 'run_python', {code: 'x = 1', session_id: id});
    const point = (await good(client, 'checkpoint', {session_id: id, name: 'before'})).structuredContent;
    await good(client, 'run_python', {code: 'x = 2', session_id: id});
    const {sessions} = (await good(client, 'fork_session', {session_id: id})).structuredContent;
    await good(client, 'rollback', {session_id: id, checkpoint: point.id});
    assert.equal(await valueOf(client, id, 'x'), '1');
    assert.equal(await valueOf(client, sessions[0].id, 'x'), '2');
    await good(client, 'close_session', {session_id: sessions[0].id});
    await good(client, 'close_session', {session_id: id});
  },

  async files_go_in_and_come_out(client) {
    const id = await newSession(client);
    const text = 'Grüße,1\nzwei,2\n';
    await good(client, 'write_file', {session_id: id, path: 'in/a.csv', text});
    assert.equal(await valueOf(client, id, 'len(open("in/a.csv").read())'), String(text.length));
    const {files} = (await good(client, 'list_files', {session_id: id, path: 'in'})).structuredContent;
    assert.ok(files.some((file) => file.path.endsWith('/in/a.csv')), JSON.stringify(files));
    const back = await good(client, 'read_file', {session_id: id, path: 'in/a.csv'});
    assert.match(JSON.stringify(back.structuredContent) + textOf(back), /Grüße/);
    const missing = await client.call('read_file', {session_id: id, path: 'no/such'});
    assert.equal(missing.isError, true);
    await good(client, 'close_session', {session_id: id});
  },

  // The folder and the file in it are of the daemon's config.
  async a_folder_is_explored(client) {
    const result = await good(client, 'explore', {command: 'cat *.txt | tr a-z A-Z'});
    assert.equal(result.structuredContent.stdout, 'HELLO\n');
    const {structuredContent: told} = await client.call('explore', {command: 'touch new'});
    assert.notEqual(told.exit_code, 0);
    assert.match(told.stderr, /[Rr]ead-only|not permitted|denied/);
  },

  async a_figure_is_an_image(client) {
    const code = 'import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()';
    const result = await good(client, 'run_python', {code});
    const image = result.content.find((item) => item.type === 'image');
    assert.ok(image, 'no image in the content');
    assert.equal(image.mimeType, 'image/png');
    assert.deepEqual(Buffer.from(image.data, 'base64').subarray(0, 8), PNG);
  },

  async a_new_file_is_a_link_that_can_be_read(client) {
    const id = await newSession(client);
    const code = 'open("out.bin", "wb").write(bytes(range(256)))';
    const result = await good(client, 'run_python', {code, session_id: id});
    const link = result.content.find((item) => item.type === 'resource_link');
    assert.ok(link, 'no resource_link in the content');
    assert.match(link.name, /out\.bin/);
    const [item] = (await client.read(link.uri)).contents;
    assert.deepEqual([...Buffer.from(item.blob, 'base64')], [...Array(256).keys()]);
    await good(client, 'close_session', {session_id: id});
    await assert.rejects(() => client.read(link.uri));
  },

  // The code does not end by itself: what is told was told while it ran. (The first SDK drops what
  // comes in one piece with the result.)
  async lines_are_progress(client) {
    const lines = [];
    const abort = new AbortController();
    const seen = () => lines.map((line) => line.message ?? '').join('\n');
    const code = 'for i in range(3): print("line", i, flush=True)\nwhile True: pass';
    await assert.rejects(() => client.call('run_python', {code, timeout_ms: 100000}, {
      signal: abort.signal,
      onLine: (line) => {
        lines.push(line);
        if (seen().includes('line 2')) abort.abort();
      },
    }));
    assert.ok(seen().includes('line 0') && seen().includes('line 2'), JSON.stringify(lines));
    const numbers = lines.map((line) => line.progress);
    assert.ok(numbers.every((number, i) => i === 0 || number > numbers[i - 1]), String(numbers));
  },

  // Only a run that has really ended lets the next one of its session begin: they go in order.
  async a_cancelled_call_ends_its_run(client) {
    const id = await newSession(client);
    const abort = new AbortController();
    const code = 'print("on", flush=True)\nwhile True: pass';
    await assert.rejects(() => client.call('run_python', {code, session_id: id, timeout_ms: 100000},
      {signal: abort.signal, onLine: () => abort.abort()}));
    assert.equal(await valueOf(client, id, '1 + 1'), '2');
    await good(client, 'close_session', {session_id: id});
  },

  async calls_at_the_same_time_are_each_answered(client) {
    const numbers = [...Array(8).keys()];
    const results = await Promise.all(numbers.map((i) => good(client, 'run_python', {code: `print(${i})`})));
    assert.deepEqual(results.map((result) => result.structuredContent.stdout), numbers.map((i) => `${i}\n`));
  },
};

// `without`: what this client has no way to do, each with its reason in the script.
export async function talk(client, {without = []} = {}) {
  let tried = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (without.includes(name)) continue;
    tried++;
    try {
      await check(client);
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`not ok ${name}: ${String(error.message).split('\n').slice(0, 12).join(' | ')}`);
    }
  }
  console.log(`${tried} tried`);
}
