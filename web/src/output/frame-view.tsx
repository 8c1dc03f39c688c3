// SPDX-License-Identifier: Apache-2.0
// A frame without an origin, without network and without the page's token: HTML of a result and plotly figures live there.
import { useEffect, useRef, useState } from "preact/hooks";
import { own } from "./checks";
import { theme } from "./charts/theme";
import { Notice, Tool, useSeen } from "./parts";
import "./charts/charts.css";

const ADDRESS = import.meta.env.DEV ? "/frame.html" : "/frame";
const CAP_HEIGHT = 480;
const MOST_HEIGHT = 8000;
const LOAD_MS = 15_000;

interface Props {
  title: string;
  message: Record<string, unknown> | null; // what the frame is to show, once that is known
  height?: number; // fixed; else as high as what it shows
  onAnswer?: (answer: unknown) => void;
  ask?: { current: ((question: Record<string, unknown>) => void) | null }; // filled with a way to ask the frame
}

export function FrameView({ title, message, height, onAnswer, ask }: Props) {
  const [box, isSeen] = useSeen<HTMLDivElement>();
  const frame = useRef<HTMLIFrameElement>(null);
  const [isReady, setReady] = useState(false);
  const [isLate, setLate] = useState(false);
  const [inner, setInner] = useState(60);
  const [isAll, setAll] = useState(false);
  const colours = theme.value;

  useEffect(() => {
    const heard = (event: MessageEvent<unknown>) => {
      if (!frame.current || event.source !== frame.current.contentWindow) return;
      const told = own(event.data, "height");
      if (own(event.data, "ready") === true) setReady(true);
      else if (typeof told === "number" && told >= 0) setInner(Math.min(Math.ceil(told), MOST_HEIGHT));
      else onAnswer?.(event.data);
    };
    addEventListener("message", heard);
    return () => removeEventListener("message", heard);
  }, [onAnswer]);

  useEffect(() => {
    if (!isSeen || isReady) return;
    const timer = setTimeout(() => setLate(true), LOAD_MS);
    return () => clearTimeout(timer);
  }, [isSeen, isReady]);

  // The frame has no origin that could be named: what is posted is only what it is to show.
  const post = (data: unknown) => frame.current?.contentWindow?.postMessage(data, "*");
  useEffect(() => {
    if (isReady) post({ theme: colours });
  }, [isReady, colours]);
  useEffect(() => {
    if (isReady && message) post(message);
  }, [isReady, message]);
  if (ask) ask.current = post;

  const capped = Math.min(inner, CAP_HEIGHT);
  return (
    <div class="frame" ref={box}>
      {isLate && !isReady && <Notice>The frame for this result does not load.</Notice>}
      {isSeen && (
        <iframe ref={frame} src={ADDRESS} sandbox="allow-scripts" title={title} referrerpolicy="no-referrer"
          style={{ height: `${height ?? (isAll ? inner : capped)}px` }} />
      )}
      {height === undefined && inner > CAP_HEIGHT && (
        <div class="out-tools"><Tool label={isAll ? "Show less" : "Show all"} onClick={() => setAll(!isAll)} /></div>
      )}
    </div>
  );
}

export function HtmlView({ html }: { html: string }) {
  const [message] = useState(() => ({ html }));
  return (
    <>
      <FrameView title="HTML result" message={message} />
      {/<script[\s>]/i.test(html) && <p class="out-soft">Scripts in this HTML are not run.</p>}
    </>
  );
}
