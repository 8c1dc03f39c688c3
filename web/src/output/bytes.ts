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
  if (mime === "image/png") checkSize(bytes);
  return new Blob([bytes], { type: mime });
}

function checkSize(bytes: Uint8Array<ArrayBuffer>): void {
  if (bytes.length < 24) throw new BadImage("it ends too early");
  const view = new DataView(bytes.buffer);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  if (width * height > PIXELS_MAX) throw new BadImage(`it has ${width} x ${height} points, more than this page draws`);
}
