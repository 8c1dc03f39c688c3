// SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo, useState } from "preact/hooks";
import { IconDownload, IconExpand } from "../ui/icons";
import { BadImage, imageBlob } from "./bytes";
import { Notice, saveAs, Tool } from "./parts";
import "./charts/charts.css";

interface Props {
  mime: string;
  content: string; // base64, or the text of an SVG
  alt: string;
  name?: string; // of the file it is saved as
  scale?: number; // how many of its pixels make one of the page's
}

/** A blob's address for as long as it is shown. */
export function useBlobUrl(blob: Blob | null): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!blob) return setUrl(null);
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}

const EDGES = 18; // padding and border of an image, as charts.css has them

/** A dense picture at the size it was made for. */
function fit(image: HTMLImageElement, scale: number): void {
  if (scale > 1 && scale <= 4) image.width = Math.round(image.naturalWidth / scale) + EDGES;
}

/** A picture that is a blob already: a file of the session, for example. */
export function BlobImage({ blob, alt, name = "image", scale = 1 }: { blob: Blob; alt: string; name?: string; scale?: number }) {
  const url = useBlobUrl(blob);
  const [isBroken, setBroken] = useState(false);
  const [isFull, setFull] = useState(false);
  useEffect(() => setBroken(false), [blob]);
  if (isBroken) return <Notice>This image could not be shown: it is damaged.</Notice>;
  return (
    <div class="image">
      <div class={isFull ? "image-box is-full" : "image-box"} tabIndex={isFull ? 0 : undefined}>
        {url && <img src={url} alt={alt} onError={() => setBroken(true)} onLoad={(event) => fit(event.currentTarget, scale)} decoding="async" />}
      </div>
      <div class="out-tools">
        <Tool label="Full size" icon={IconExpand} pressed={isFull} onClick={() => setFull(!isFull)} />
        <Tool icon={IconDownload} label={blob.type === "image/png" ? "Save as PNG" : "Save image"} onClick={() => saveAs(blob, name)} />
      </div>
    </div>
  );
}

const ENDS: Readonly<Record<string, string>> = { "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg" };

export function ImageView({ mime, content, alt, name = "image", scale = 1 }: Props) {
  const made = useMemo(() => {
    try {
      return imageBlob(mime, content);
    } catch (cause) {
      return cause instanceof BadImage ? cause.message : "it could not be read";
    }
  }, [mime, content]);
  if (typeof made === "string") return <Notice>This image could not be shown: {made}.</Notice>;
  return <BlobImage blob={made} alt={alt} name={`${name}.${ENDS[mime] ?? "bin"}`} scale={scale} />;
}
