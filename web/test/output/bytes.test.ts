// SPDX-License-Identifier: Apache-2.0
// Pictures that ask for more memory than there is, in each of the forms that a browser shows.
import { describe, expect, it } from "vitest";
import { BadImage, checkPixels, imageBlob } from "../../src/output/bytes";

const of = (...parts: (number[] | string)[]) => {
  const bytes = parts.flatMap((part) => (typeof part === "string" ? [...part].map((letter) => letter.charCodeAt(0)) : part));
  return new Uint8Array([...bytes, ...new Array<number>(Math.max(0, 64 - bytes.length)).fill(0)]);
};
const png = (side: number[]) => of([0x89], "PNG\r\n\x1a\n", [0, 0, 0, 13], "IHDR", side, side);
const jpeg = (side: number[]) => of([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xff, 0xc2, 0, 17, 8], side, side);
const gif = (side: number[]) => of("GIF89a", side, side);
const webp = (side: number[]) => of("RIFF", [0, 0, 0, 0], "WEBPVP8X", [0, 0, 0, 0, 0, 0, 0, 0], side, side);
const lossless = (bits: number[]) => of("RIFF", [0, 0, 0, 0], "WEBPVP8L", [0, 0, 0, 0, 0x2f], bits);
const bmp = (side: number[]) => of("BM", new Array<number>(16).fill(0), side, side);

describe("a picture's size", () => {
  it("is refused where it is absurd", () => {
    for (const bomb of [png([0, 1, 0, 0]), jpeg([0xff, 0xff]), gif([0xff, 0xff]), webp([0xff, 0xff, 0]), lossless([0xff, 0xff, 0xff, 0x0f]),
      bmp([0, 0, 1, 0]), bmp([0, 0, 0xff, 0xff])]) {
      expect(() => checkPixels(bomb)).toThrow(BadImage);
    }
  });

  it("is taken where it is one that can be shown, and where it is not known", () => {
    for (const fine of [png([0, 0, 1, 0]), jpeg([1, 0]), gif([0, 1]), webp([0, 1, 0]), lossless([0, 1, 0, 0]), bmp([0, 1, 0, 0]), of("anything else")]) {
      expect(() => checkPixels(fine)).not.toThrow();
    }
  });

  it("counts also under the name of another kind", () => {
    expect(() => imageBlob("image/gif", btoa(String.fromCharCode(...gif([0xff, 0xff]))))).toThrow(BadImage);
    expect(() => imageBlob("image/jpeg", btoa(String.fromCharCode(...jpeg([0xff, 0xff]))))).toThrow(BadImage);
  });

  it("never fails otherwise, whatever the bytes", () => {
    let seed = 7;
    const next = () => (seed = (seed * 48271) % 2147483647) & 255;
    for (const head of [[0x89, 0x50, 0x4e, 0x47], [0xff, 0xd8, 0xff], [0x47, 0x49, 0x46, 0x38], [0x52, 0x49, 0x46, 0x46], [0x42, 0x4d]]) {
      for (let i = 0; i < 300; i++) {
        const bytes = new Uint8Array([...head, ...Array.from({ length: i }, next)]);
        try {
          checkPixels(bytes);
        } catch (cause) {
          expect(cause).toBeInstanceOf(BadImage);
        }
      }
    }
  });
});
