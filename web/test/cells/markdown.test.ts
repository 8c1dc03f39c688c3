// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, vi } from "vitest";
import { isTooMuch, markdownHtml, tamed } from "../../src/cells/markdown";

// The page's own gate by itself. DOMPurify needs a real browser: in this one its walk ends at the first element it
// removes. Both together are tried in tests/browser.
vi.mock("dompurify", () => ({ default: () => ({ sanitize: (html: string) => html }) }));

function shown(text: string): HTMLElement {
  const box = document.createElement("div");
  box.innerHTML = markdownHtml(text);
  return box;
}

describe("markdown of notes", () => {
  it("shows headings, lists, tables and code", () => {
    const box = shown("# One\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```");
    expect(box.querySelector("h1")?.textContent).toBe("One");
    expect(box.querySelectorAll("li, td").length).toBe(4);
    expect(box.querySelector("pre code")?.textContent).toBe("code\n");
  });

  it("opens links elsewhere, without a way back to this page", () => {
    const link = shown("[x](https://example.org/)").querySelector("a")!;
    expect(link.getAttribute("rel")).toContain("noopener");
    expect(link.getAttribute("target")).toBe("_blank");
  });

  it("shows pictures that are in the note, and loads none from elsewhere", () => {
    expect(shown("![a](data:image/png;base64,iVBORw0KGgo=)").querySelectorAll("img").length).toBe(1);
    const box = shown("![a cat](https://example.org/cat.png) ![s](data:image/svg+xml;base64,PHN2Zz4=)");
    expect(box.querySelectorAll("img").length).toBe(0);
    expect(box.textContent).toContain("[picture not shown: a cat]");
  });

  it.each([
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='data:image/png;base64,AA==' onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "<a href='vbscript:x'>x</a>",
    "<iframe src='https://example.org'></iframe>",
    "<svg onload=alert(1)><script>1</script></svg>",
    "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
    "<form action='https://example.org'><input name=q><button>go</button></form>",
    "<p style='position:fixed;inset:0' id='app' class='toast' name='body'>x</p>",
    "<object data='x'></object><embed src='x'><link rel=stylesheet href='https://example.org'><base href='//example.org'>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
  ])("takes out what would do something: %s", (text) => {
    const box = shown(text);
    expect(box.querySelectorAll("script, iframe, svg, math, form, button, object, embed, link, base, style, input:not([type=checkbox])").length).toBe(0);
    for (const element of box.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on|^style$|^id$|^class$|^name$|^srcset$/);
        if (name === "href") expect(value).toMatch(/^(https?:|mailto:)/);
        if (name === "src") expect(value).toMatch(/^data:image\/png/);
      }
    }
  });

  it("keeps HTML that only says how text looks", () => {
    const box = shown("H<sub>2</sub>O <kbd>Tab</kbd>\n\n<div align=\"center\"><b>x</b></div>\n\n<details><summary>more</summary>text</details>");
    expect([...box.querySelectorAll("sub, kbd, div, b, details, summary")].length).toBe(6);
    expect(box.querySelector("div")?.getAttribute("align")).toBe("center");
  });

  it("never hands a handler, a style or a foreign tag to the parser", () => {
    const html = tamed("<p onclick=x style='a' title=\"q>r\">t</p><svg/onload=x><style>b{}</style><script src=x></script><!-- c --><a <b>");
    expect(html).toBe('<p title="q&gt;r">t</p>&lt;a <b>');
  });

  it("is not slowed down by what is long and broken", () => {
    const begun = performance.now();
    for (const part of ["<a ", "<a '", "x".repeat(9) + "=", "<!--", "<script", "a-"]) tamed(`<a ${part.repeat(40_000)}>`);
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  it("shows as plain text what would keep the page busy", () => {
    for (const text of ["__a_ ".repeat(20_000), "~~a~ ".repeat(20_000), "a.".repeat(50_000) + "@", ">".repeat(50_000), "_a__ ".repeat(20_000), "[".repeat(100_000)]) {
      const box = shown(text);
      expect(box.children.length).toBe(1);
      expect(box.querySelector("pre")?.textContent).toBe(text);
    }
  }, 4000);

  it("still reads long notes, and pictures in them", () => {
    const paragraph = "A *word* and `code` with a [link](https://example.org/).\n\n";
    expect(isTooMuch(paragraph.repeat(8000))).toBe(false); // as long as a note may be
    expect(isTooMuch(paragraph.replaceAll("\n", " ").repeat(8000))).toBe(true);
    expect(shown(paragraph.repeat(100)).querySelectorAll("em").length).toBe(100);
    expect(shown(`![a](data:image/png;base64,${"A".repeat(300_000)})`).querySelectorAll("img").length).toBe(1);
  });
});
