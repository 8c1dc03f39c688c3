// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { deedOfCode, nameIt, titleOfCode, titleOfNote } from "../../src/state/title";
import { Cell } from "../../src/state/conversation";
import { conversationOf } from "../cells/parts";

it.each([
  ["import pandas as pd\n# load it\n\nframe = pd.read_csv('a.csv')", "frame = pd.read_csv('a.csv')"],
  ["from_here = 1", "from_here = 1"],
  ["import math", "import math"],
  ["", ""],
])("what the code %j does, in a line", (source, line) => expect(deedOfCode(source)).toBe(line));

describe("the title of a conversation", () => {
  it.each([
    ["# Monthly sales\nx = 1", "Monthly sales"],
    ['"""Statistics of a year."""\nimport numpy', "Statistics of a year."],
    ["import pandas as pd\n\ndf = pd.read_csv('sales.csv')", "df = pd.read_csv('sales.csv')"],
    ["import math", "import math"],
    ["for row in rows:\n    pass", "for row in rows"],
    ["%timeit 1\nx = 2", "x = 2"],
    ["\n---\n", ""],
    ["total = " + "a + ".repeat(40), `total = ${"a + ".repeat(40)}`.slice(0, 47).trimEnd() + "…"],
  ])("of %j", (source, title) => expect(titleOfCode(source)).toBe(title));

  it("of a note is its first words", () => expect(titleOfNote("\n## *Moss* and `fern`\nmore")).toBe("Moss and fern"));

  it("is that of the first cell or file, and never replaces one that was given", () => {
    const cell = (source: string) => new Cell({ id: "a", kind: "code", source, run: null });
    const conversation = conversationOf([cell(""), cell("print('moss')")]);
    nameIt(conversation);
    expect(conversation.name.value).toBe("test");
    conversation.name.value = "Untitled";
    nameIt(conversation);
    expect(conversation.name.value).toBe("print('moss')");
    conversation.name.value = "Untitled";
    nameIt(conversation, "sales.csv");
    expect(conversation.name.value).toBe("sales.csv");
  });
});
