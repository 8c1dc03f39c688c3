// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { decodeText, findDelimiter, parseSheet } from "../../src/panels/csv";

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("a sheet out of text", () => {
  it("reads quotes, doubled quotes, newlines and delimiters inside of fields", () => {
    const sheet = parseSheet('a,b\n"x, ""y""\nz",2\r\n3,4');
    expect(sheet.columns).toEqual(["a", "b"]);
    expect(sheet.rows).toEqual([['x, "y"\nz', "2"], ["3", "4"]]);
    expect(sheet.isCut).toBe(false);
  });

  it("keeps the empty field behind the last delimiter", () => {
    expect(parseSheet("a,b\n1,").rows).toEqual([["1", ""]]);
    expect(parseSheet("a,b\n1,\n").rows).toEqual([["1", ""]]);
  });

  it("does not take a quote that never closes for more than the rest", () => {
    const sheet = parseSheet('a,b\n"open,1\n2,3\n');
    expect(sheet.rows).toEqual([["open,1\n2,3\n"]]);
  });

  it("finds the delimiter", () => {
    expect(findDelimiter("a;b;c\n1,5;2;3\n")).toBe(";");
    expect(findDelimiter("a\tb\n1\t2\n")).toBe("\t");
    expect(findDelimiter("a|b\n1|2\n")).toBe("|");
    expect(findDelimiter("one\ntwo\n")).toBe(",");
  });

  it("drops the byte order mark and half of a line", () => {
    const sheet = parseSheet("\ufeffa,b\n1,2\n3,", false);
    expect(sheet.columns).toEqual(["a", "b"]);
    expect(sheet.rows).toEqual([["1", "2"]]);
    expect(sheet.isCut).toBe(true);
  });

  it("caps rows, columns and fields, and says so", () => {
    const wide = Array.from({ length: 10_000 }, (_, i) => `c${i}`).join(",");
    const sheet = parseSheet(`${wide}\n${wide}\n${"x".repeat(5000)}\n`, true, { rows: 5, columns: 10, field: 20 });
    expect(sheet.columns).toHaveLength(10);
    expect(sheet.rows[1]![0]).toHaveLength(20);
    expect(sheet.isCut).toBe(true);
    const many = parseSheet("a\n" + "1\n".repeat(100), true, { rows: 5 });
    expect(many.rows).toHaveLength(5);
    expect(many.isCut).toBe(true);
  });

  it("tells rows that are longer than the header", () => {
    expect(parseSheet("a,b\n1,2,3\n").isRagged).toBe(true);
    expect(parseSheet("a,b\n1\n").isRagged).toBe(false);
  });

  it("is quick with a megabyte of quotes and of commas", () => {
    const begun = performance.now();
    parseSheet('"'.repeat(1 << 20));
    parseSheet(",".repeat(1 << 20));
    parseSheet('"",'.repeat(1 << 18));
    expect(performance.now() - begun).toBeLessThan(15_000);
  }, 30_000);
});

describe("bytes as text", () => {
  it("knows UTF-8, also cut in the middle of a character", () => {
    const euro = bytesOf("a€");
    expect(decodeText(euro)).toEqual({ text: "a€", encoding: "utf-8" });
    expect(decodeText(euro.subarray(0, 3), false)).toEqual({ text: "a", encoding: "utf-8" });
  });

  it("knows UTF-16 by its mark and takes the rest for latin-1", () => {
    expect(decodeText(new Uint8Array([0xff, 0xfe, 0x61, 0]))).toEqual({ text: "a", encoding: "utf-16" });
    expect(decodeText(new Uint8Array([0x61, 0xe9, 0x62]))).toEqual({ text: "aéb", encoding: "latin-1" });
  });

  it("does not take bytes for text", () => {
    expect(decodeText(new Uint8Array([0x61, 0, 0x62]))).toBeNull();
    expect(decodeText(new Uint8Array([0xff, 0xd8, 1, 2, 3, 4, 5, 6]))).toBeNull();
  });
});
