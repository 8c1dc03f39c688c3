// SPDX-License-Identifier: Apache-2.0
// Settings that this browser remembers: who we are, how the page looks, what new conversations start with.
import { effect, signal } from "@preact/signals";
import { identity } from "../api/client";

export interface Settings {
  token: string;
  approveKey: string;
  theme: "system" | "light" | "dark";
  sandboxByDefault: boolean;
  policy: string; // "": the daemon's default
  runtime: string; // "": the daemon's choice
  follow: boolean; // the page goes to where an agent's run is
}

const KEY = "vivarium.settings";
const initial: Settings = {
  token: "", approveKey: "", theme: "system", sandboxByDefault: true, policy: "", runtime: "", follow: false,
};

function load(): Settings {
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof saved !== "object" || saved === null) return initial;
    const known = Object.entries(saved).filter(
      ([name, value]) => name in initial && typeof value === typeof initial[name as keyof Settings],
    );
    return { ...initial, ...Object.fromEntries(known) };
  } catch {
    return initial; // what another version wrote, or a browser that keeps nothing
  }
}

/** `#approve=KEY` as `viv serve` prints it: kept, and taken out of the address so that it is in no screenshot. */
function takeKey(settings: Settings): Settings {
  const key = /^#approve=([A-Za-z0-9_-]{16,128})$/.exec(location.hash)?.[1];
  if (!key) return settings;
  history.replaceState(null, "", location.pathname);
  return { ...settings, approveKey: key };
}

export const settings = signal<Settings>(takeKey(load()));
addEventListener("hashchange", () => { settings.value = takeKey(settings.peek()); }); // the address was opened where the page was already

export function change(part: Partial<Settings>): void {
  settings.value = { ...settings.value, ...part };
}

effect(() => {
  identity.token = settings.value.token;
  identity.approveKey = settings.value.approveKey;
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // A browser that keeps nothing: the page works, and forgets.
  }
  const { theme } = settings.value;
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
});
