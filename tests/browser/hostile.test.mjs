// SPDX-License-Identifier: Apache-2.0
// Everything that code in a sandbox, a file or a notebook may choose, chosen to become script of the page. A payload that
// works sets a global, opens a dialog, or calls the trap, a server that is nobody's.
import { createServer } from "node:http";
import { assert, eventually, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const calls = [];
const trap = createServer((request, answer) => {
  calls.push(request.url);
  answer.end();
});
trap.on("connection", () => calls.push("a connection")); // also one over which nothing is asked
await new Promise((listening) => trap.listen(0, "127.0.0.1", listening));
trap.unref();
const TRAP = `http://127.0.0.1:${trap.address().port}`;

const TAGS = [
  `<script>window.hacked=1</script>`,
  `<img src=x onerror="window.hacked=1;top.hacked=1">`,
  `<svg/onload=window.hacked=1>`,
  `<iframe srcdoc="<script>top.hacked=1</script>"></iframe>`,
  `<a href="javascript:window.hacked=1">link</a>`,
  `<img src="${TRAP}/image">`,
  `<link rel=stylesheet href="${TRAP}/style">`,
  `<link rel=preconnect href="${TRAP}"><link rel=prefetch href="${TRAP}/ahead"><svg><link rel=preconnect href="${TRAP}"/></svg>`,
  `<svg><a><set attributeName=href to="${TRAP}/set"/><text>set</text></a><use href="${TRAP}/use.svg#a"/><feImage href="${TRAP}/fe"/></svg>`,
  `<p style="background:url(${TRAP}/open">style</p>`,
  `<form action="${TRAP}/form"><button>go</button></form>`,
  `<base href="${TRAP}/">`,
  `<math><mtext></table></math><img src onerror=hacked=1>`,
  "{{constructor.constructor('hacked=1')()}}",
  `"><details open ontoggle=hacked=1>`,
].join("");
const PY = JSON.stringify(TAGS);

async function assertUnharmed(person) {
  for (const frame of person.page.frames()) {
    assert.equal(await frame.evaluate(() => window.hacked).catch(() => undefined), undefined, `script ran in ${frame.url()}`);
  }
  assert.deepEqual(calls, [], "something was asked of another server");
}

/** Runs it, looks for the word `shown` as a sign that all of it is there, and then for harm. */
async function survives(person, code, shown = "over and out") {
  const cell = await person.converse();
  await cell.run(`${code}\nprint('over and out')`);
  await says(cell.output, shown);
  await cell.output.evaluate((element) => element.scrollIntoView()); // what is far below is not drawn yet
  await assertUnharmed(person);
  return cell;
}

export default subject("hostile", {}, (test) => {
  test("stdout and stderr are text", async (person) => {
    const cell = await survives(person, `import sys\nprint(${PY})\nprint(${PY}, file=sys.stderr)\nprint('\\x1b]8;;javascript:hacked=1\\x07link\\x1b]8;;\\x07')`);
    await says(cell.output, "<script>window.hacked=1</script>");
  });

  test("cells and columns of a table are text", async (person) => {
    const cell = await survives(person, `import pandas as pd\ndisplay(pd.DataFrame({${PY}: [${PY}, None], 'b': [${PY}, ${PY}]}, index=[${PY}, 'i']))`);
    await says(cell.output.getByRole("grid"), "<svg/onload");
  });

  test("labels, names and titles of charts are text, tooltips too", async (person) => {
    for (const kind of ["line", "bar", "pie", "scatter"]) {
      const cell = await survives(person, `_chart = {'type': '${kind}', 'title': ${PY}, 'categoryKey': ${PY}, 'valueKeys': ['v', ${PY} + 'b'],\n` +
        ` 'data': [{${PY}: ${kind === "scatter" ? 1 : PY}, 'v': 3, ${PY} + 'b': 4}, {${PY}: ${kind === "scatter" ? 2 : "'x'"}, 'v': 5, ${PY} + 'b': 1}]}`);
      const chart = person.chartIn(cell.output);
      await sees(chart);
      const box = await chart.boundingBox();
      for (let x = 0.1; x < 1; x += 0.1) await person.page.mouse.move(box.x + box.width * x, box.y + box.height / 2);
      await assertUnharmed(person);
    }
  });

  test("so are those of a matplotlib figure's twin", async (person) => {
    const cell = await survives(person, `import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.bar(['a', ${PY}[:200]], [1, 2], label=${PY}[:90])\nax.set_title(${PY}[:90])\nplt.show()`);
    await cell.output.getByText("Interactive", { exact: true }).first().click();
    const chart = person.chartIn(cell.output);
    await sees(chart);
    await chart.hover();
    await assertUnharmed(person);
  });

  test("a plotly figure does what plotly does, in its frame, and no more", async (person) => {
    const cell = await survives(person, `import plotly.graph_objects as go\nt = ${PY}\ndisplay(go.Figure(go.Bar(x=[t, '<a href="javascript:top.hacked=1">x</a>'], y=[2, 5], name=t, hovertemplate=t), layout={'title': t, ` +
      `'annotations': [{'text': t, 'x': 0, 'y': 1, 'captureevents': True}], 'images': [{'source': '${TRAP}/plotly.png', 'x': 0, 'y': 1, 'sizex': 1, 'sizey': 1}]}))`);
    await sees(cell.output.locator("iframe").contentFrame().locator(".main-svg"));
    await assertUnharmed(person);
  });

  test("HTML, markdown, SVG and JavaScript of a result reach nothing", async (person) => {
    const cell = await survives(person, `class Rich:\n    def __init__(self, **forms): self.forms = forms\n    def _repr_mimebundle_(self, **_): return {k.replace('__', '/').replace('_xml', '+xml'): v for k, v in self.forms.items()}\n` +
      `display(Rich(text__html=${PY} + "<script>fetch('${TRAP}/fetch')</script><meta http-equiv=refresh content='0;url=${TRAP}/refresh'><p>html is here</p>"))\n` +
      `display(Rich(text__markdown='# md\\n' + ${PY} + '\\n[x](javascript:hacked=1) ![i](${TRAP}/md.png)'))\n` +
      `display(Rich(image__svg_xml='<svg xmlns="http://www.w3.org/2000/svg" onload="top.hacked=1"><script>top.hacked=1</script><image href="${TRAP}/svg.png"/></svg>'))\n` +
      `display(Rich(application__javascript='window.hacked=1'))\n` +
      `display(Rich(text__latex=${PY}))`);
    await sees(cell.output.locator("iframe").first().contentFrame().getByText("html is here"));
    await assertUnharmed(person);
  });

  test("text and HTML made to keep the page busy do not", async (person) => {
    const cell = await survives(person, `class Rich:\n    def _repr_mimebundle_(self, **_): return {'text/html': '<style>' + 'url(' * 200000 + '</style><p style="background:' + 'url(' * 200000 + '"></p><p>html is here</p>'}\n` +
      `display(Rich())\nprint('\\x1b[1mx' * 100000)\nprint('\\x1b[A\\n' * 50000)`, "xxxx");
    await sees(cell.output.locator("iframe").first().contentFrame().getByText("html is here"));
    await assertUnharmed(person);
  });

  test("names of files and variables are text", async (person) => {
    const name = "<img src=x onerror=hacked=1>.txt";
    const cell = await survives(person, `open(${JSON.stringify(name)}, 'w').write(${PY})\nopen('page.html', 'w').write(${PY})\nopen('p.svg', 'w').write('<svg xmlns="http://www.w3.org/2000/svg" onload="top.hacked=1"/>')\n` +
      `class T: pass\nT.__name__ = ${PY}\nglobals()[${PY}] = T()\nvictim = T()\ntext_value = ${PY}`);
    await says(cell.output, name);
    const variables = await person.tab("Variables");
    await says(variables, "text_value");
    const files = await person.tab("Files");
    await says(files, name);
    for (const file of [name, "page.html", "p.svg"]) {
      await files.getByRole("button", { name: `Preview ${file}` }).click();
      await says(person.page.getByRole("dialog"), /onload|onerror/); // markup in a file is text
      await assertUnharmed(person);
      await person.closeDialog();
    }
  });

  test("a traceback and an exception's own words are text", async (person) => {
    const cell = await person.converse();
    await cell.run(`class Bad(Exception): pass\nBad.__name__ = Bad.__qualname__ = ${PY}\nraise Bad(${PY})`);
    await says(cell.output, "<script>window.hacked=1</script>");
    await assertUnharmed(person);
  });

  test("the name of a conversation is text", async (person) => {
    await person.open();
    await person.agent.call("POST", "/v1/conversations", { name: TAGS.slice(0, 150) });
    const row = person.sidebar.getByText("<script>window.hacked=1</script>", { exact: false });
    await sees(row);
    await row.first().click();
    await says(person.heading, "<script>");
    await assertUnharmed(person);
  });

  test("an imported notebook brings text and pictures, and no script", async (person) => {
    await person.converse();
    const [chooser] = await Promise.all([person.page.waitForEvent("filechooser"), person.deed("Import notebook")]);
    const before = person.page.url();
    const output = (data) => ({ output_type: "display_data", metadata: {}, data });
    const notebook = {
      nbformat: 4, nbformat_minor: 5, metadata: { title: TAGS },
      cells: [
        { id: "<img src=x onerror=hacked=1>", cell_type: "markdown", metadata: {}, source: `# Title\n${TAGS}\n\n[x](javascript:hacked=1)` },
        {
          id: "b", cell_type: "code", metadata: {}, execution_count: TAGS, source: "'imported'", outputs: [
            { output_type: "stream", name: "stdout", text: TAGS }, output({ "text/html": TAGS }),
            output({ "image/png": `x" onerror="hacked=1` }), output({ "image/svg+xml": "<svg onload=hacked=1>" }),
            output({ "application/javascript": "hacked=1" }), output({ "application/vnd.plotly.v1+json": { data: TAGS } }),
            { output_type: "error", ename: TAGS, evalue: TAGS, traceback: [TAGS] },
          ],
        },
      ],
    };
    await chooser.setFiles({ name: "evil.ipynb", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(notebook)) });
    await eventually(() => person.page.url() !== before, "the imported conversation");
    await says(person.page.getByRole("main"), "<script>window.hacked=1</script>");
    await assertUnharmed(person);
  });

  test("what an agent says of itself, and its code, are text", async (person) => {
    const agent = person.agentNamed("<img src=x onerror=hacked=1>");
    await person.open();
    const session = await agent.session("<svg/onload=hacked=1>");
    await agent.run(session, `${PY}`);
    await person.open(`#/s/${session.id}`);
    await says(person.page.getByRole("main"), "<script>");
    await person.open("#/status");
    await assertUnharmed(person);
  });
});
