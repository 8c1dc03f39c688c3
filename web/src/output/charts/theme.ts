// SPDX-License-Identifier: Apache-2.0
// The page's colours, for what is drawn on a canvas or in a frame; and word of it when they change.
import { signal } from "@preact/signals";

export interface Theme {
  isDark: boolean;
  text: string;
  soft: string;
  line: string;
  surface: string;
  sunken: string;
  font: string;
  palette: readonly string[];
}

// Ten colours that stay apart for those who see few; each has 3:1 or more against its theme's surface.
export const LIGHT = ["#1f7a58", "#c8611a", "#3567c4", "#b23a74", "#7a6a00", "#0b7f92", "#7b4fc0", "#a8442f", "#557a1f", "#5b6670"];
export const DARK = ["#5fc79b", "#f0995a", "#85aef5", "#ee8fbb", "#d6c65a", "#5cc9dc", "#b79bf0", "#f08f7c", "#a5cc6b", "#a9b4be"];

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function readTheme(): Theme {
  const root = document.documentElement;
  const probe = root.appendChild(document.createElement("i")); // a name may stand for two colours: what is shown is one
  const style = getComputedStyle(probe);
  const colour = (name: string, otherwise: string) => {
    probe.style.color = `var(${name}, ${otherwise})`;
    return style.color.startsWith("rgb") ? style.color : otherwise;
  };
  const isDark = root.dataset["theme"] ? root.dataset["theme"] === "dark" : prefersDark.matches;
  const read: Theme = {
    isDark,
    text: colour("--text", "#1d211c"),
    soft: colour("--soft", "#585f55"),
    line: colour("--line", "#dcded6"),
    surface: colour("--surface", "#ffffff"),
    sunken: colour("--sunken", "#f2f3ef"),
    font: style.getPropertyValue("--font").trim() || "sans-serif",
    palette: isDark ? DARK : LIGHT,
  };
  probe.remove();
  return read;
}

export const theme = signal<Theme>(readTheme());

function refresh(): void {
  const now = readTheme();
  if (JSON.stringify(now) !== JSON.stringify(theme.peek())) theme.value = now;
}

new MutationObserver(refresh).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
prefersDark.addEventListener("change", refresh);

export const isStill = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
