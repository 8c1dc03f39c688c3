// SPDX-License-Identifier: Apache-2.0
// Nothing gets lost: output across a refresh, a daemon that dies, and ten megabytes of it.
import { counting } from "./lib/codes.mjs";
import { assert, eventually, gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

/** Every line of `counting`, each once and in its order. */
function assertWhole(text, lines) {
  const seen = [...text.matchAll(/^line (\d+)$/gm)].map((match) => Number(match[1]));
  assert.deepEqual(seen, Array.from({ length: lines }, (_, i) => i));
}

export default subject("lasting", {}, (test) => {
  test("a refresh in the middle of a run loses nothing and repeats nothing", async (person) => {
    const cell = await person.converse();
    await cell.start(counting(40, 0.05));
    await says(cell.output, "line 5");
    await person.refresh();
    await says(cell.output, "line 5");
    await says(cell.output, "the end");
    assertWhole(await cell.output.innerText(), 40);
    await cell.over();
  });

  test("so does a daemon that is killed in the middle of a run", async (person, daemon) => {
    person.watch.expectsAbsence();
    const cell = await person.converse();
    await cell.start(counting(60, 0.05));
    await says(cell.output, "line 10");
    await daemon.kill9();
    await sees(person.absence);
    await daemon.again();
    await gone(person.absence);
    await says(cell.output, "the end");
    assertWhole(await cell.output.innerText(), 60);
    await cell.over();
  });

  test("ten megabytes of output neither freeze nor break the page", async (person) => {
    const cell = await person.converse();
    await cell.start("line = 'x' * 99\nfor i in range(100_000): print(line)\nprint('z' * 500_000)\nprint('all is told')");
    // While it comes the page answers: frames are drawn all along. On a busy machine each of them takes longer.
    const { slowest, all } = await person.page.evaluate(() => new Promise((done) => {
      const begin = performance.now();
      let [last, worst, frames] = [begin, 0, 0];
      const frame = (now) => {
        worst = Math.max(worst, now - last);
        last = now;
        if (++frames === 120) done({ slowest: worst, all: now - begin });
        else requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    }));
    assert.ok(slowest < Math.max(2000, all / 2), `the page stood still for ${slowest} ms of ${all}`);
    await cell.over();
    await eventually(async () => /cut|truncated|all is told|output limit/i.test(await cell.output.innerText()), "its end, or a word that it was cut");
    const next = await person.another();
    await next.run("'lives'");
    await says(next.output, "lives");
    await person.refresh();
    await says(person.cell(2).output, "lives");
  });

  test("text that is typed while the daemon is away is there afterwards", async (person, daemon) => {
    person.watch.expectsAbsence();
    const cell = await person.converse();
    await cell.run("1");
    await daemon.kill9();
    await sees(person.absence);
    await cell.write("typed_meanwhile = 5");
    await daemon.again();
    await gone(person.absence);
    await eventually(async () => {
      const { conversations } = await person.agent.call("GET", "/v1/conversations");
      const whole = await Promise.all(conversations.map(({ id }) => person.agent.call("GET", `/v1/conversations/${id}`)));
      return JSON.stringify(whole).includes("typed_meanwhile");
    }, "the typed text at the daemon");
    await person.refresh();
    await says(cell.editor, "typed_meanwhile = 5");
  });

  test("two tabs see the same, and neither overwrites the other", async (person) => {
    const cell = await person.converse();
    await cell.write("first = 1");
    const other = await person.secondTab();
    await says(other.cell(1).editor, "first = 1");
    const made = await other.another();
    await made.write("second = 2");
    await says(person.cell(2).editor, "second = 2");
    await cell.write("first = 11");
    await says(other.cell(1).editor, "first = 11");
    await says(other.cell(2).editor, "second = 2");
  });
});
