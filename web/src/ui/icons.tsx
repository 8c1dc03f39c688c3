// SPDX-License-Identifier: Apache-2.0
// The page's icons: lines on a 16 by 16 grid, in the colour of the text around them. They say nothing to a screen reader:
// what carries one carries a label too.
interface IconProps {
  size?: number;
  class?: string;
}

function drawn(d: string) {
  return function Icon({ size = 16, class: name }: IconProps) {
    return (
      <svg class={name ? `icon ${name}` : "icon"} width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor"
        stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
        <path d={d} />
      </svg>
    );
  };
}

const dot = (x: number, y: number, r = 0.6) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;

// ---- deeds ----
export const IconPlus = drawn("M8 3v10M3 8h10");
export const IconClose = drawn("M4 4l8 8M12 4l-8 8");
export const IconCheck = drawn("M3 8.5l3.2 3.2L13 5");
export const IconSearch = drawn("M11 7a4 4 0 1 1-8 0a4 4 0 0 1 8 0zM10 10l3.5 3.5");
export const IconPencil = drawn("M10.6 3.2l2.2 2.2L5.6 12.6l-3 .8.8-3zM9.2 4.6l2.2 2.2");
export const IconTrash = drawn("M2.8 4.5h10.4M6 4.5V3h4v1.5M4.2 4.5l.6 8.5h6.4l.6-8.5M6.7 7v3.7M9.3 7v3.7");
export const IconCopy = drawn("M6 5.5h6.5a1 1 0 0 1 1 1V12a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1zM10 5.5V4a1 1 0 0 0-1-1H3.5a1 1 0 0 0-1 1v5.5a1 1 0 0 0 1 1H6");
export const IconUndo = drawn("M5.5 3L2.5 6l3 3M2.8 6H10a3.5 3.5 0 0 1 0 7H6");
export const IconRefresh = drawn("M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.8h-2.8");
export const IconUpload = drawn("M8 10.5V3M5 5.8L8 3l3 2.8M2.8 10.5V13h10.4v-2.5");
export const IconDownload = drawn("M8 3v7.5M5 7.7l3 2.8 3-2.8M2.8 10.5V13h10.4v-2.5");
export const IconFilter = drawn("M2.8 4.2h10.4M4.8 8h6.4M6.8 11.8h2.4");
export const IconZoomIn = drawn("M11 7a4 4 0 1 1-8 0a4 4 0 0 1 8 0zM10 10l3.5 3.5M7 5.2v3.6M5.2 7h3.6");
export const IconZoomReset = drawn("M2.8 6V2.8H6M10 2.8h3.2V6M13.2 10v3.2H10M6 13.2H2.8V10M6.3 8h3.4");

// ---- runs ----
export const IconPlay = drawn("M5 3.3v9.4L12.5 8z");
export const IconPlayAll = drawn("M2.5 3.8v8.4L8 8zM8.5 3.8v8.4L14 8z");
export const IconStop = drawn("M4.2 4.2h7.6v7.6H4.2z");
export const IconHand = drawn("M4.6 9V5.2M7 7.8V3.2M9.4 7.8V3.8M11.8 8.5V5.5M4.6 9L3.2 7.7M11.8 8.5v1.8a3.6 3.6 0 0 1-7.2 0V9");

// ---- direction ----
export const IconUp = drawn("M8 13V3M4 7l4-4 4 4");
export const IconDown = drawn("M8 3v10M4 9l4 4 4-4");
export const IconGrip = drawn([4, 8, 12].flatMap((y) => [dot(6, y), dot(10, y)]).join(""));
export const IconMore = drawn(dot(3.5, 8) + dot(8, 8) + dot(12.5, 8));
export const IconExpand = drawn("M9.5 2.8h3.7v3.7M13.2 2.8L9.3 6.7M6.5 13.2H2.8V9.5M2.8 13.2l3.9-3.9");

// ---- places ----
export const IconSidebar = drawn("M2.5 3.5h11v9h-11zM6.2 3.5v9");
export const IconPanel = drawn("M2.5 3.5h11v9h-11zM9.8 3.5v9");
export const IconGear = drawn("M3 4.5h6M12 4.5h1M3 11.5h1M7 11.5h6M9 4.5a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0M4 11.5a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0");
export const IconActivity = drawn("M2 8.5h2.7L6.5 4l3 8.5 1.8-4H14");
export const IconHelp = drawn("M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM6.3 6.3a1.7 1.7 0 1 1 2.5 1.5c-.5.3-.8.6-.8 1.2M8 11.2h.01");
export const IconChat = drawn("M2.5 3.5h11v7.5H8l-3 2.5V11H2.5z");

// ---- things ----
export const IconFile = drawn("M4 2.5h5l3 3v8H4zM9 2.5v3h3");
export const IconFolder = drawn("M2.5 4h4l1.2 1.5h5.8v7h-11z");
export const IconTable = drawn("M2.5 3.5h11v9h-11zM2.5 6.5h11M2.5 9.5h11M6.5 6.5v6");
export const IconChart = drawn("M2.8 2.8v10.4h10.4M5.5 10.5v-3M8.2 10.5v-6M11 10.5V6");
export const IconImage = drawn("M2.5 3h11v10h-11zM2.5 11l3.2-3.2 2.5 2.4 2-1.7 3.3 2.8M6.5 6a.8.8 0 1 1-1.6 0a.8.8 0 0 1 1.6 0z");
export const IconCode = drawn("M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5");
export const IconNote = drawn("M3 4h10M3 7h10M3 10h6.5");
export const IconVariable = drawn("M5 3C3.5 3 3.8 7.3 2.3 8c1.5.7 1.2 5 2.7 5M11 3c1.5 0 1.2 4.3 2.7 5-1.5.7-1.2 5-2.7 5M6.5 6.5l3 3M9.5 6.5l-3 3");
export const IconClock = drawn("M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 4.8V8l2.2 1.5");
export const IconHistory = drawn("M2.3 6.5A6 6 0 1 1 2 8.5M2 3.5v3.2h3.2M8 5v3.2l2.2 1.3");
export const IconBranch = drawn("M5 5.5v5M5 10.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M5 2.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M11 3.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M11 6.5c0 2.5-2.5 2.8-4.3 3.2");
export const IconPin = drawn("M5.5 2.5h5l-.6 4 2.1 2.5H4l2.1-2.5zM8 9v4.5");
export const IconAgent = drawn("M3 6h10v6.5H3zM8 6V3.5M6 9h.01M10 9h.01M1.5 8.5v1.5M14.5 8.5v1.5M7.3 3a.7.7 0 1 1 1.4 0a.7.7 0 0 1-1.4 0z");
export const IconPerson = drawn("M10.5 5.5a2.5 2.5 0 1 1-5 0a2.5 2.5 0 0 1 5 0zM3 13.5c.4-2.7 2.3-4 5-4s4.6 1.3 5 4");
export const IconEye = drawn("M1.8 8C3.2 5.3 5.3 4 8 4s4.8 1.3 6.2 4c-1.4 2.7-3.5 4-6.2 4S3.2 10.7 1.8 8zM10 8a2 2 0 1 1-4 0a2 2 0 0 1 4 0z");
export const IconLock = drawn("M3.5 7.5h9v6h-9zM5.5 7.5V5.3a2.5 2.5 0 0 1 5 0v2.2");

// ---- tones ----
export const IconInfo = drawn("M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 7.5v3.5M8 5.2h.01");
export const IconWarning = drawn("M8 2.5l6 10.5H2zM8 6.5v3M8 11.2h.01");
export const IconError = drawn("M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 4.8v3.7M8 11h.01");
export const IconSun = drawn("M10.5 8a2.5 2.5 0 1 1-5 0a2.5 2.5 0 0 1 5 0zM8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1");
export const IconMoon = drawn("M13 9.8A5.5 5.5 0 0 1 6.2 3a5.5 5.5 0 1 0 6.8 6.8z");

/** The mark of Vivarium: a leaf behind glass. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg class="logo" width={size} height={size} viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.5"
      stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
      <rect x="3" y="3" width="26" height="26" rx="7" />
      <path d="M10 22c0-7 4-11 12-12 0 7-4 12-12 12zm0 0 7-7" />
    </svg>
  );
}
