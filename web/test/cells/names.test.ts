// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { namesOf } from "../../src/cells/names";

const reads = (code: string) => [...namesOf(code).reads].sort().join(" ");
const writes = (code: string) => [...namesOf(code).writes].sort().join(" ");

describe("names that a cell writes", () => {
  it.each([
    ["x = 1", "x"],
    ["a = b = 0", "a b"],
    ["x, (y, *z) = f()", "x y z"],
    ["n += 1", "n"],
    ["t: int = 3", "t"],
    ["import os.path, numpy as np", "np os"],
    ["from a.b import c as d, e", "d e"],
    ["def f(p, q=1): r = p", "f"],
    ["class C:\n    v = 1", "C"],
    ["for i, j in rows: k = i", "i j k"],
    ["with open(n) as fh: text = fh.read()", "fh text"],
    ["(w := 5)", "w"],
    ["try: a = 1\nexcept E as err: b = 2", "a b err"],
    ["[t for t in things]", ""],
    ["match v:\n    case [h, *rest]: pass", "h rest"],
    ["df['a'] = 1\nobj.b.c = 2", "df obj"],
    ["rows.append(3)\ndf.sort_values('a', inplace=True)\ndf2.head()", "df rows"],
    ["def f():\n    global g\n    g = 1\n    total['a'] = 2", "f g total"],
    ["del x", "x"],
  ])("%s", (code, names) => expect(writes(code)).toBe(names));
});

describe("names that a cell reads", () => {
  it.each([
    ["print(x)", "print x"],
    ["df = load()\ndf.head()", "load"],
    ["df = df.dropna()", "df"],
    ["n += 1", "n"],
    ["if a: x = 1\nx", "a x"],
    ["for i in rows: print(i)", "i print rows"],
    ["def f(p, q=d):\n    l = p + x\n    return l", "d x"],
    ["class C(Base):\n    v = w\n    def m(self): return self.v + u", "Base u w"],
    ["[t * k for t in things if t]", "k things"],
    ["(lambda m: m + o)(1)", "o"],
    ["plot(data=frame, title='x')", "frame plot"],
    ["print(f'{fx} {fy!r:>{wd}}')", "fx fy print wd"],
    ["a['k'] = v", "a v"],
    ["import pandas as pd\npd.DataFrame(rows)", "rows"],
    ["with open(n) as fh: fh.read()", "n open"],
  ])("%s", (code, names) => expect(reads(code)).toBe(names));
});

it("says nothing of what it cannot read, and takes no time for it", () => {
  expect(reads("(".repeat(100_000))).toBe("");
  expect(writes("x = 1\n".repeat(50_000))).toBe("");
  const nested = Array.from({ length: 60 }, (_, i) => `${" ".repeat(i)}def f${i}(a${i}):`).join("\n") + `\n${" ".repeat(60)}return outer`;
  expect(reads(nested)).toBe("outer");
});
