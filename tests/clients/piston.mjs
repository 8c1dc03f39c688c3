// SPDX-License-Identifier: Apache-2.0
// piston-client, unchanged but for its server: piston.mjs URL

import assert from 'node:assert/strict';
import piston from 'piston-client';

const client = piston({server: process.argv[2]});
let tried = 0;

async function check(name, body) {
  tried++;
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name}: ${String(error.message).split('\n').slice(0, 12).join(' | ')}`);
  }
}

await check('python_is_among_the_runtimes', async () => {
  const python = (await client.runtimes()).find((runtime) => runtime.language === 'python');
  assert.match(python.version, /^3\.\d+\.\d+$/);
  assert.ok(python.aliases.includes('py'));
});

await check('code_runs', async () => {
  const {run, language} = await client.execute('python', 'print(6 * 7)');
  assert.equal(language, 'python');
  assert.equal(run.stdout, '42\n');
  assert.equal(run.output, '42\n');
  assert.equal(run.code, 0);
  assert.equal(run.signal, null);
});

await check('arguments_stdin_and_files_arrive', async () => {
  const files = [
    {name: 'main.py', content: 'import sys, other\nprint(sys.argv[1:], sys.stdin.read(), other.x)'},
    {name: 'other.py', content: 'x = 7'},
  ];
  const {run} = await client.execute({language: 'python', files, args: ['a', 'b c'], stdin: 'given'});
  assert.equal(run.stdout, "['a', 'b c'] given 7\n", run.stderr);
});

await check('an_exception_is_on_stderr', async () => {
  const {run} = await client.execute('python', 'print("so far")\n1 / 0');
  assert.equal(run.code, 1);
  assert.equal(run.stdout, 'so far\n');
  assert.match(run.stderr, /ZeroDivisionError/);
});

await check('a_run_past_its_timeout_is_killed', async () => {
  const {run} = await client.execute('python', 'print("on", flush=True)\nwhile True: pass', {runTimeout: 500});
  assert.equal(run.signal, 'SIGKILL');
  assert.equal(run.code, null);
  assert.equal(run.stdout, 'on\n');
});

await check('an_unknown_language_is_refused', async () => {
  const answer = await client.execute('cobol', 'DISPLAY 1.', {version: '*'});
  assert.match(JSON.stringify(answer), /cobol/);
});

console.log(`${tried} tried`);
