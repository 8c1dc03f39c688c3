// SPDX-License-Identifier: Apache-2.0
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/preact";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import { ApiError } from "../../src/api/client";
import type { Bundle, RunEvent } from "../../src/api/types";
import { typed } from "../../src/output/ansi";
import { BadImage, imageBlob } from "../../src/output/bytes";
import { BundleView, formsOf } from "../../src/output/bundle";
import { ChartItem } from "../../src/output/charts/item";
import { JsonView } from "../../src/output/json";
import { FilesView, type FindSince } from "../../src/output/files";
import { Output } from "../../src/output/model";
import { Boundary, fileName } from "../../src/output/parts";
import { TextView } from "../../src/output/text";
import { placeOf, renumber, TracebackView } from "../../src/output/traceback";
import { OutputView } from "../../src/output/view";
import { toasts } from "../../src/state/toasts";

afterEach(cleanup);

const XSS = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>';
const event = (seq: number, body: object) => ({ seq, t_ms: 1, ...body }) as unknown as RunEvent;
const line = (text: string, stream: "stdout" | "stderr" = "stdout") => ({ stream, text });
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

describe("text", () => {
  it("is text, whatever is in it", () => {
    const { container } = render(<TextView lines={[line(XSS), line("\x1b[31mred\x1b[0m"), line("oops", "stderr")]} />);
    expect(container.querySelector("img, script")).toBeNull();
    expect(container.textContent).toContain(XSS);
    expect(container.querySelector(".ansi-1")!.textContent).toBe("red");
    expect(container.querySelector(".is-stderr")!.textContent).toBe("oops");
  });

  it("that was typed is marked as such, and is text", () => {
    const { container } = render(<TextView lines={[line("who? " + typed(XSS))]} />);
    expect(container.querySelector("img, script")).toBeNull();
    expect(container.querySelector("kbd")!.textContent).toBe(XSS);
  });

  it("of 100,000 lines is a window on them", () => {
    const lines = Array.from({ length: 100_000 }, (_, i) => line(`line ${i}`));
    const { container } = render(<TextView lines={lines} />);
    expect(container.querySelectorAll(".text-row").length).toBeLessThan(300);
    expect(container.querySelector<HTMLElement>(".text-all")!.style.height).toBe("2000000px");
  });

  it("of one line of 10 MB is a window too", () => {
    const { container } = render(<TextView lines={[line("x".repeat(10_000_000))]} />);
    expect(container.textContent!.length).toBeLessThan(100_000);
  });
});

describe("an output", () => {
  it("shows its items, files and ending, with meters against the limits", () => {
    const output = new Output();
    output.apply(event(1, { type: "stdout", text: "hello\n" }));
    output.apply(event(2, { type: "result", result: { "text/plain": "42", "application/json": 42 } }));
    output.apply(event(3, {
      type: "verdict", state: "rolled_back", walls: [], truncated: { stdout: true }, files: [{ path: `/workspace/${XSS}.csv`, size: 10, mime: "text/csv" }],
      verdict: { kind: "timeout", exit_code: 124, signal: null, message: "", remedy: "do less", limit: "timeout_ms", limit_value: 1000, peak: null, by: "supervisor" },
      usage: { queue_ms: 0, wall_ms: 1000, cpu_ms: 400, peak_memory: 256 << 20, output_bytes: 6 },
      allowed: { timeout_ms: 1000, memory: 512 << 20, cpus: 2 },
    }));
    const { container } = render(<OutputView output={output} session={null} label="Output of cell 1" />);
    expect(screen.getByRole("region", { name: "Output of cell 1" })).toBeTruthy();
    expect(container.textContent).toContain("hello");
    expect(container.textContent).toContain("Timed out");
    expect(container.textContent).toContain("limit of 1 s");
    expect(container.textContent).toContain("do less");
    expect(container.textContent).toContain("variables and the files of /workspace went back to what they were before this run");
    expect(container.textContent).not.toContain("runs were undone");
    expect(container.textContent).toContain("Some of stdout is left out");
    expect(screen.getByRole("meter", { name: "Memory" }).getAttribute("aria-valuetext")).toBe("256 MiB of 512 MiB");
    expect(screen.getByRole("meter", { name: "Time" }).getAttribute("aria-valuetext")).toBe("1 s of 1 s");
    expect(screen.getByRole("meter", { name: "CPU" }).getAttribute("aria-valuetext")).toBe("400 ms of 2 s");
    expect(container.querySelector("img, script")).toBeNull();
    expect(container.textContent).toContain(`${XSS}.csv`);
  });

  it("says how far a rollback went, and why; and what a session that was woken lacks", () => {
    const ending = (state: string, checkpoint: unknown, isSaved = false) => {
      const output = new Output();
      output.apply(event(1, {
        type: "verdict", state, walls: [], truncated: {}, files: [], checkpoint,
        verdict: { kind: state === "rolled_back" ? "timeout" : "ok", exit_code: null, signal: null, message: "", remedy: "", limit: null, peak: null, by: "supervisor" },
        usage: { queue_ms: 0, wall_ms: 1, cpu_ms: 1, peak_memory: 1, output_bytes: 0 },
      }));
      const numberOf = (run: string) => (run === "run_4f" ? 4 : null);
      return render(<OutputView output={output} session={null} isSaved={isSaved} numberOf={numberOf} label="Output of cell 1" />).container.textContent;
    };
    expect(ending("rolled_back", { id: "cp_1", after: "run_0", undone: ["run_1", "run_2"], why: "thread worker-1", note: "" }))
      .toContain("2 runs were undone, this one and the one before it; variables and the files of /workspace went back to what they were before those. No newer state was kept: thread worker-1.");
    expect(ending("preserved", { id: "cp_1", woken: { missing: [] }, note: "the session was woken from its state on disk; could not be kept: conn" }))
      .toContain("The session was woken from its state on disk; could not be kept: conn.");
    const back = ending("rolled_back", { id: "cp_1", woken: { missing: [] }, note:
      "rolled back: variables are what they were before this run. Files stay as they are. Before that, the session was woken from its state on disk; could not be kept: conn" });
    expect(back).toContain("The session was woken from its state on disk; could not be kept: conn.");
    expect(back).not.toContain("variables are what they were");
    const kept = { why: "the disk is full", note: "the state after this run is not saved: the disk is full" };
    expect(ending("preserved", { id: "cp_1", kept, note: kept.note })).toContain("The state after this run is not saved: the disk is full.");
    expect(ending("preserved", { id: "cp_1", kept, note: kept.note }, true)).not.toContain("not saved");
    const both = { id: "cp_1", kept, woken: { missing: [] }, note: `the session was woken from its state on disk. And ${kept.note}` };
    expect(ending("preserved", both)).toMatch(/woken from its state on disk\.The state after this run is not saved: the disk is full\./);
    expect(ending("preserved", both, true)).toMatch(/woken from its state on disk\.$/);
    for (const [run, said] of [["run_4f", "cell 4"], ["run_5f", "an earlier run"]] as const) {
      const note = `the state after this run is not saved: the disk is full. The session comes back as it was after ${run}`;
      expect(ending("preserved", { id: "cp_1", kept: { ...kept, note }, note })).toContain(`comes back as it was after ${said}.`);
    }
  });

  it("a run that is undone keeps what it ended as", () => {
    const badges = (kind: string) => {
      const output = new Output();
      output.apply(event(1, {
        type: "verdict", state: "preserved", walls: [], truncated: {}, files: [], checkpoint: null,
        verdict: { kind, exit_code: null, signal: null, message: "", remedy: "", limit: null, peak: null, by: "supervisor" },
        usage: { queue_ms: 0, wall_ms: 1, cpu_ms: 1, peak_memory: 1, output_bytes: 0 },
      }));
      const { container } = render(<OutputView output={output} session={null} mark="undone" />);
      return [...container.querySelectorAll(".ending-badge")].map((badge) => badge.textContent);
    };
    expect(badges("exception")).toEqual(["Failed", "Undone"]);
    expect(badges("timeout")).toEqual(["Timed out", "Undone"]);
    expect(badges("ok")).toEqual(["Undone"]);
  });

  it("shows what comes while it is shown", async () => {
    const output = new Output();
    const { container } = render(<OutputView output={output} session={null} />);
    expect(container.textContent).toBe("");
    output.apply(event(1, { type: "stdout", text: "one\n" }));
    await waitFor(() => expect(container.textContent).toContain("one"));
    output.apply(event(2, { type: "stdout", text: "two\n" }));
    await waitFor(() => expect(container.textContent).toContain("two"));
    output.apply(event(3, { type: "stdout", text: "10%" }));
    await waitFor(() => expect(container.textContent).toContain("10%"));
    output.apply(event(4, { type: "stdout", text: "\r20%" })); // as many lines as before
    await waitFor(() => expect(container.textContent).toContain("20%"));
    expect(container.textContent).not.toContain("10%");
  });

  it("shows a notice for what is malformed, and the rest", () => {
    const output = new Output();
    const odd: object[] = [
      { type: "chart", chart: null }, { type: "chart", chart: { kind: "spec", spec: 5 } }, { type: "chart", chart: { kind: "image", base64: "!!!" } },
      { type: "chart", chart: { kind: "plotly", figure: 7 } }, { type: "table", table: { columns: 1 } }, { type: "table", table: { columns: ["a"], rows: [5] } },
      { type: "display", data: { "image/png": "bm90IGEgcG5n" } }, { type: "display", data: {} }, { type: "error", error: 5 },
    ];
    odd.forEach((body, i) => output.apply(event(i + 1, body)));
    output.apply(event(99, { type: "stdout", text: "still here\n" }));
    const { container } = render(<OutputView output={output} session={null} />);
    expect(container.querySelectorAll(".out-notice").length).toBe(8);
    expect(container.textContent).toContain("still here");
  });

  it("does not repeat the name of a figure that is shown", () => {
    const output = new Output();
    output.apply(event(1, { type: "chart", chart: { kind: "spec", spec: null } }));
    output.apply(event(2, { type: "result", result: { "text/plain": "Figure(...)" } }));
    expect(render(<OutputView output={output} session={null} />).container.textContent).not.toContain("Figure(");
  });

  it("keeps what one item breaks within it", () => {
    const Broken = () => {
      throw new Error("boom");
    };
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { container } = render(<><Boundary what="chart"><Broken /></Boundary><p>rest</p></>);
    expect(container.textContent).toContain("This chart could not be shown: boom");
    expect(container.textContent).toContain("rest");
  });
});

describe("an ending out of sight", () => {
  it.each([[5, 1], [40, 2]])("behind %i lines is told %i times", (lines, times) => {
    const output = new Output();
    output.apply(event(1, { type: "stdout", text: "line\n".repeat(lines) }));
    output.apply(event(2, {
      type: "verdict", state: "rolled_back", walls: [], truncated: {}, files: [],
      verdict: { kind: "timeout", exit_code: 124, signal: null, message: "", remedy: "", limit: null, peak: null, by: "supervisor" },
      usage: { queue_ms: 0, wall_ms: 1000, cpu_ms: 400, peak_memory: 1, output_bytes: 6 },
    }));
    const { container } = render(<OutputView output={output} session={null} />);
    const badges = screen.getAllByText("Timed out");
    expect(badges).toHaveLength(times);
    const isAhead = badges[0]!.compareDocumentPosition(container.querySelector(".text")!) & Node.DOCUMENT_POSITION_FOLLOWING;
    expect(Boolean(isAhead)).toBe(times === 2);
  });
});

describe("files of a run", () => {
  const file = { path: "/workspace/f.txt", size: 3, mime: "text/plain", sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" }; // abc
  const read = vi.spyOn(calls, "readFile");
  const saved = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => {});
  const download = async () => {
    URL.createObjectURL ??= () => "blob:";
    toasts.value = [];
    saved.mockClear();
    render(<FilesView files={[file]} session="ses_1" />);
    fireEvent.click(screen.getByRole("button", { name: "Download f.txt" }));
    await waitFor(() => expect(screen.getByRole("button", { name: "Download f.txt" }).textContent).toBe("Download"));
    cleanup();
    return toasts.value.map(({ text }) => text).join();
  };

  it.each([["abc", ""], ["abcdef", "as it is now, 6 bytes"], ["xyz", "has changed since this run"]])("are told to be others by now: %s", async (text, told) => {
    read.mockResolvedValue(new Response(text));
    expect(await download()).toMatch(told ? new RegExp(told) : /^$/);
    expect(saved).toHaveBeenCalledTimes(1);
  });

  it("are told to be gone", async () => {
    read.mockRejectedValue(new ApiError(404, "not_found", "no such file"));
    expect(await download()).toBe("f.txt is no longer in the session");
    expect(saved).not.toHaveBeenCalled();
  });

  it("say before a click what became of them, and what the download is", () => {
    const files = ["a", "b", "c"].map((name) => ({ ...file, path: `/workspace/${name}` }));
    const since: FindSince = ({ path }) => path.endsWith("a") ? { kind: "changed", by: 4, size: 6 } : path.endsWith("b") ? { kind: "removed", by: null, size: null } : { kind: "back", by: 1, size: 2 };
    render(<FilesView files={files} session="ses_1" since={since} />);
    const chips = screen.getAllByRole("listitem").map((chip) => chip.textContent);
    expect(chips).toEqual(["a3 byteschanged since by cell 4, now 6 bytesDownload as it is now", "b3 bytesremoved since", "c3 bytesnow as cell 1 left it, 2 bytesDownload as it is now"]);
    expect(screen.getByRole("button", { name: "Download a as it is now" })).toBeTruthy();
    expect(screen.queryByRole("button", { name: /Download b/ })).toBeNull();
  });

  it.each([["bill\u202efdp.exe", "bill‹202e›fdp.exe"], ["a\u200b\n<b onclick=x>", "a‹200b›⏎<b onclick=x>"], ["x".repeat(4000), "x".repeat(4000)]])("have names that look like no other: %j", (name, shown) => {
    const { container } = render(<FilesView files={[{ ...file, path: `/workspace/${name}` }]} session="ses_1" since={() => ({ kind: "changed", by: 2, size: 3 })} />);
    expect(container.querySelector(".file-name")!.textContent).toBe(shown);
    expect(container.querySelector(".file-name")!.getAttribute("title")).toBe(shown);
    expect(container.querySelector("b")).toBeNull();
    expect(screen.getByRole("button").getAttribute("aria-label")).toBe(`Download ${shown} as it is now`);
  });

  it.each([["abc", ""], ["xyz", "changed since, now 3 bytes"]])("of the same size are looked at where nothing else tells: %s", async (text, told) => {
    read.mockResolvedValue(new Response(text));
    const { container } = render(<FilesView files={[file]} session="ses_1" since={() => ({ kind: "unsure", by: null, size: 3 })} />);
    expect(container.textContent).toContain("may have changed since");
    await waitFor(() => expect(container.textContent).not.toContain("may have"));
    expect(container.querySelector(".file-since")?.textContent ?? "").toBe(told);
  });

  it("of a run that was undone are said to be of another time", () => {
    const { container } = render(<FilesView files={[file]} session="ses_1" mark="undone" />);
    expect(container.textContent).toContain("may be gone");
  });
});

describe("a bundle", () => {
  const names = (bundle: Bundle) => formsOf(bundle).map(({ value }) => value);

  it("is shown in its richest form", () => {
    expect(names({ "text/plain": "42", "application/json": 42 })).toEqual(["text"]);
    expect(names({ "text/plain": "x", "text/html": "<b>", "application/json": { columns: [], rows: [] } })).toEqual(["table", "html", "text"]);
    expect(names({ "text/plain": "[1]", "application/json": [1] })).toEqual(["text"]);
    expect(names({ "text/plain": "x".repeat(300), "application/json": [1] })).toEqual(["json", "text"]);
    expect(names({ "image/svg+xml": "<svg/>" })).toEqual(["image"]);
    expect(names({ "application/x-odd": 5 })).toEqual(["other"]);
    expect(names({})).toEqual(["other"]);
    expect(names({ "application/javascript": "alert(1)" })).toEqual(["code"]);
  });

  it("of a NumPy array is its text at once, with its type and shape; the tree is a click away", () => {
    const bundle = {
      "text/plain": "array([[1., 2.],\n       [3., 4.]])", "application/json": [[1, 2], [3, 4]],
      "application/vnd.vivarium.array+json": { dtype: "float64", shape: [2, 2] },
    };
    expect(names(bundle)).toEqual(["text", "json"]);
    const { container } = render(<BundleView bundle={bundle} session={null} />);
    expect(container.textContent).toContain("float64, 2 × 2");
    expect(container.textContent).toContain("array([[1., 2.],");
    const odd = render(<BundleView bundle={{ "text/plain": "x", "application/vnd.vivarium.array+json": { dtype: 5, shape: ["<b>", -1] } }} session={null} />);
    expect(odd.container.textContent).toContain("x");
  });

  it("whose JSON has other values than Python is its text at once; the JSON is called so", () => {
    const bundle = { "text/plain": `{'inf': inf, 'none': None, 'b': b'${"x".repeat(300)}'}`, "application/json": { inf: null, none: null, b: "b'xxx'" } };
    expect(formsOf(bundle).map(({ label }) => label)).toEqual(["Tree", "Text"]);
    const inexact = { ...bundle, "application/vnd.vivarium.inexact+json": true };
    expect(formsOf(inexact).map(({ label }) => label)).toEqual(["Text", "JSON"]);
    expect(names({ ...inexact, "text/plain": "{'inf': inf}" })).toEqual(["text"]);
    const { container } = render(<BundleView bundle={inexact} session={null} />);
    expect(container.textContent).toContain("'inf': inf");
  });

  it("shows a negative zero in its tree", () => {
    const { container } = render(<BundleView bundle={{ "text/plain": "x".repeat(300), "application/json": [-0, 0] }} session={null} />);
    expect([...container.querySelectorAll(".json-number")].map((one) => one.textContent)).toEqual(["-0.0", "0"]);
  });

  it("puts HTML nowhere but into the frame without an origin", () => {
    const { container } = render(<BundleView bundle={{ "text/html": XSS }} session={null} />);
    expect(container.querySelector("img, script")).toBeNull();
    expect(container.innerHTML).not.toContain("onerror");
    expect(container.textContent).toContain("not run");
    const frame = container.querySelector("iframe");
    if (frame) expect(frame.getAttribute("sandbox")).toBe("allow-scripts");
  });

  it("that holds frames shows each as a table, and its text where they are many or not alone", async () => {
    const table = (name: string) => ({ columns: [name], total: 1, dtypes: ["int64"], decimals: [null], rows: [[7]], index: { names: [null], dtypes: ["int64"], rows: [[0]] } });
    const text = { "text/plain": "(   a\n0  7,)" };
    expect(names({ ...text, "application/json": [table("a"), table("b")] })).toEqual(["tables", "text"]);
    expect(names({ ...text, "application/json": { first: table("a") } })).toEqual(["tables", "text"]);
    expect(names({ ...text, "application/json": [table("a"), 5] })).toEqual(["text"]);
    expect(names({ ...text, "application/json": Array.from({ length: 9 }, () => table("a")) })).toEqual(["text"]);
    expect(names({ ...text, "application/json": [1, 2] })).toEqual(["json", "text"]);
    render(<BundleView bundle={{ ...text, "application/json": [table("left"), table("right")] }} session={null} />);
    for (const [label, column] of [["Table 1 of 2", "left"], ["Table 2 of 2", "right"]] as const) {
      await waitFor(() => expect(screen.getByRole("region", { name: label }).textContent).toContain(column), { timeout: 20_000 });
    }
    expect(screen.queryByText(/dtypes|decimals/)).toBeNull();
  });
});

describe("pictures", () => {
  it("must be what they say they are", () => {
    expect(imageBlob("image/png", PNG).type).toBe("image/png");
    expect(() => imageBlob("image/png", btoa("not a png"))).toThrow(BadImage);
    expect(() => imageBlob("image/png", "§§")).toThrow(/base64/);
    expect(() => imageBlob("text/html", btoa("<b>"))).toThrow(/no picture/);
    expect(() => imageBlob("constructor", "")).toThrow(BadImage);
    expect(() => imageBlob("image/svg+xml", "javascript:alert(1)")).toThrow(/no SVG/);
  });

  it("must not be absurdly large", () => {
    const bytes = Uint8Array.from(atob(PNG), (letter) => letter.charCodeAt(0));
    new DataView(bytes.buffer).setUint32(16, 100_000);
    new DataView(bytes.buffer).setUint32(20, 100_000);
    expect(() => imageBlob("image/png", btoa(String.fromCharCode(...bytes)))).toThrow(/100000 x 100000/);
  });

  it("of SVG are sources of an <img>, never part of the page", async () => {
    const { container } = render(<BundleView bundle={{ "image/svg+xml": `<svg onload="window.pwned=1">${XSS}</svg>` }} session={null} />);
    await waitFor(() => expect(container.querySelector("img")).not.toBeNull());
    expect(container.querySelector("img")!.src).toMatch(/^blob:/);
    expect(container.querySelector("[onload], script, svg:not(.icon)")).toBeNull();
  });

  it("of a figure can be switched to the interactive twin", () => {
    const data = { type: "bar", title: XSS, elements: [{ label: XSS, value: 1, group: "" }] };
    const { container } = render(<ChartItem chart={{ kind: "image", mime: "image/png", base64: PNG, index: 0, data }} />);
    fireEvent.click(screen.getByRole("radio", { name: "Interactive" }));
    expect(screen.getByRole("img").getAttribute("aria-label")).toContain("Bar chart");
    expect(screen.getByRole("button", { name: "Save as CSV" })).toBeTruthy();
    expect(container.querySelector("script")).toBeNull();
    expect(container.textContent).toContain(XSS);
  });
});

describe("tracebacks", () => {
  const traceback = 'Traceback (most recent call last):\n  File "<cell 3>", line 9, in <module>\n    outer()\n  File "<cell 3>", line 7, in outer\n    df["x"]\n    ~~^^^^^\n  File "/usr/lib/pandas/frame.py", line 1, in get\n    raise KeyError\nKeyError: \'x\'\n';

  it("lead to the last line of the cell's own", () => {
    expect(placeOf(traceback)).toEqual({ cell: 3, line: 7, within: "outer", source: ['df["x"]', "~~^^^^^"] });
    expect(placeOf("nothing of the kind")).toBeNull();
    expect(placeOf('  File "<cell 1>", line 2\n    def f(:\n          ^\nSyntaxError: invalid syntax')).toMatchObject({ line: 2, within: "" });
  });

  it("are folded until they are asked for", () => {
    const { container } = render(<TracebackView error={{ type: "KeyError", message: XSS, traceback, line: 7 }} cell={undefined} find={() => null} />);
    expect(container.textContent).not.toContain("frame.py");
    fireEvent.click(screen.getByRole("button", { name: "Show traceback" }));
    expect(container.textContent).toContain("frame.py");
    expect(container.querySelector(".is-own")!.textContent).toContain("cell 3");
    expect(container.querySelector("img, script")).toBeNull();
  });
});

describe("small things", () => {
  it("JSON opens branch by branch, however deep it goes", () => {
    let deep: unknown = "bottom";
    for (let i = 0; i < 10_000; i++) deep = { deep };
    const { container } = render(<JsonView value={{ deep, list: Array.from({ length: 5000 }, (_, i) => i), [XSS]: XSS }} />);
    expect(container.querySelectorAll(".json-leaf, .json-branch").length).toBeLessThan(10);
    fireEvent.click(screen.getByRole("button", { name: /list/ }));
    expect(container.querySelectorAll(".json-leaf").length).toBe(101);
    expect(container.querySelector("img, script")).toBeNull();
  });

  it("file names are only names", () => {
    expect(fileName("/workspace/../../etc/passwd")).toBe("passwd");
    expect(fileName("a\u202egnp.exe")).toBe("a_gnp.exe");
    expect(fileName("..")).toBe("_");
    expect(fileName('x<y>:"|?*')).toBe("x_y______");
  });
});

describe("a traceback", () => {
  const text = [
    "Traceback (most recent call last):",
    '  File "<cell 7>", line 2, in <module>',
    "    area(3)",
    '  File "<cell 5>", line 1, in area',
    "    return width * missing",
    '  File "<cell 2>", line 9, in gone',
    "    raise",
    "NameError: missing",
  ].join("\n");
  const find = (line: number, code: string) => (line === 1 && code === "return width * missing" ? 1 : null);

  it("names cells as the page does", () => {
    const told = renumber(text, 3, find);
    expect(told).toContain('File "<cell 3>", line 2, in <module>');
    expect(told).toContain('File "<cell 1>", line 1, in area');
    expect(told).toContain('File "<an earlier cell>", line 9, in gone');
    expect(renumber("ValueError: no frames", 3, find)).toBe("ValueError: no frames");
    expect(renumber(text, undefined, find)).toBe(text);
  });

  it("keeps the lines of a message", () => {
    const { container } = render(<TracebackView error={{ type: "ValueError", message: "first\nsecond\n  third\x1b[31m", traceback: "", line: 1 }} cell={1} find={find} />);
    expect(container.querySelector(".traceback-head")!.textContent).toBe("ValueError: first\nsecond\n  third");
  });

  it("names the cell of a SyntaxError alike in its message and in its traceback", () => {
    const traceback = '  File "<cell 7>", line 1\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n';
    const show = (message: string, type = "SyntaxError") => render(<TracebackView error={{ type, message, traceback, line: 1 }} cell={3} find={find} />);
    const { container } = show("invalid syntax (<cell 7>, line 1)");
    fireEvent.click(screen.getByRole("button", { name: "Show traceback" }));
    expect(container.querySelector(".traceback-head")!.textContent).toBe("SyntaxError: invalid syntax (<cell 3>, line 1)");
    expect(container.textContent).toContain('File "<cell 3>", line 1');
    cleanup();
    expect(show("of no frame (<cell 8>, line 1)", "ValueError").container.textContent).toContain("(<cell 8>, line 1)");
  });

  it("says in which cell the line is, where it is another one", () => {
    const { container } = render(<TracebackView error={{ type: "NameError", message: "missing", traceback: text.replace(/  File "<cell 2>.*\n.*\n/, ""), line: 2 }} cell={3} find={find} />);
    expect(container.textContent).toContain("cell 1, line 1 in area");
  });
});

it("is quiet about a run that went well, and shows what it used when asked", () => {
  const output = new Output();
  const ended = (wall_ms: number) => event(1, {
    type: "verdict", state: "preserved", walls: [], truncated: {}, files: [],
    verdict: { kind: "ok", exit_code: 0, signal: null, message: "", remedy: "", limit: null, peak: null, by: "runner" },
    usage: { queue_ms: 0, wall_ms, cpu_ms: 4, peak_memory: 1 << 20, output_bytes: 6 },
    allowed: { timeout_ms: 30_000, memory: 512 << 20 },
  });
  output.apply(ended(300));
  const { unmount } = render(<OutputView output={output} session={null} />);
  expect(screen.queryByRole("meter")).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Details" }));
  expect(screen.getByRole("meter", { name: "Time" })).toBeTruthy();
  unmount();
  const tight = new Output();
  tight.apply(ended(29_000));
  render(<OutputView output={tight} session={null} />);
  expect(screen.getByRole("meter", { name: "Time" })).toBeTruthy();
});
