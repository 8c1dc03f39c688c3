// SPDX-License-Identifier: Apache-2.0
// Pictures from base64, looked at before a browser does: that they are what they say, and not absurdly large.

const BASE64_MAX = 24_000_000;
const SVG_MAX = 8_000_000;
const PIXELS_MAX = 80_000_000;

export class BadImage extends Error {}

const MAGIC: Readonly<Record<string, readonly number[]>> = {
  "image/png": [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  "image/jpeg": [0xff, 0xd8, 0xff],
  "image/gif": [0x47, 0x49, 0x46, 0x38],
  "image/webp": [0x52, 0x49, 0x46, 0x46],
};

export const isImageMime = (mime: string): boolean => mime === "image/svg+xml" || Object.hasOwn(MAGIC, mime);

export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  if (text.length > BASE64_MAX) throw new BadImage("it is too large");
  let binary: string;
  try {
    binary = atob(text.replace(/\s+/g, ""));
  } catch {
    throw new BadImage("it is not base64");
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** A picture as a blob that only ever becomes the source of an <img>: there even an SVG runs no script and loads nothing. */
export function imageBlob(mime: string, content: string): Blob {
  if (mime === "image/svg+xml") {
    if (content.length > SVG_MAX) throw new BadImage("it is too large");
    if (!/<svg[\s>]/i.test(content)) throw new BadImage("it is no SVG");
    return new Blob([content], { type: mime });
  }
  const magic = Object.hasOwn(MAGIC, mime) ? MAGIC[mime] : undefined;
  if (!magic) throw new BadImage(`${mime.slice(0, 60)} is no picture that this page shows`);
  const bytes = decodeBase64(content);
  if (!magic.every((byte, i) => bytes[i] === byte)) throw new BadImage(`it is no ${mime.slice(6).toUpperCase()}`);
  checkPixels(bytes);
  return new Blob([bytes], { type: mime });
}

/** Width and height of a JPEG: they stand in the first segment that begins a frame. */
function jpegSize(view: DataView): [number, number] | null {
  for (let at = 2; at + 9 < view.byteLength && view.getUint8(at) === 0xff; ) {
    const kind = view.getUint8(at + 1);
    if (kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    at += kind === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return null;
}

function webpSize(view: DataView): [number, number] | null {
  const form = view.getUint32(12);
  const word = (at: number) => view.getUint16(at, true);
  if (form === 0x56503858) return [1 + word(24) + (view.getUint8(26) << 16), 1 + word(27) + (view.getUint8(29) << 16)]; // VP8X
  if (form === 0x56503820) return [word(26) & 0x3fff, word(28) & 0x3fff]; // VP8
  if (form === 0x5650384c) return [1 + (word(21) & 0x3fff), 1 + ((view.getUint32(21, true) >>> 14) & 0x3fff)]; // VP8L
  return null;
}

/** The size of a picture. Its kind is known by its bytes, as in a browser: its name may be that of another kind. */
function sizeOf(view: DataView): [number, number] | null {
  const magic = view.getUint32(0);
  if (magic === 0x89504e47) return [view.getUint32(16), view.getUint32(20)];
  if (magic === 0x47494638) return [view.getUint16(6, true), view.getUint16(8, true)];
  if (magic === 0x52494646) return webpSize(view);
  if (magic >>> 16 === 0xffd8) return jpegSize(view);
  if (magic >>> 16 === 0x424d) return [Math.abs(view.getInt32(18, true)), Math.abs(view.getInt32(22, true))]; // BMP
  return null;
}

/** A few bytes can ask for many gigabytes of points: BadImage for those. */
export function checkPixels(bytes: Uint8Array<ArrayBuffer>): void {
  if (bytes.length < 32) throw new BadImage("it ends too early");
  const size = sizeOf(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
  if (size && size[0] * size[1] > PIXELS_MAX) throw new BadImage(`it has ${size[0]} x ${size[1]} points, more than this page draws`);
}
