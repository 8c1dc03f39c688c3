// SPDX-License-Identifier: Apache-2.0
// Inside of the frame that shows HTML of a result. It has no origin, no network and no script but this one; it shows what
// the page hands it and says how high that is.

function tellHeight(): void {
  parent.postMessage({ height: Math.ceil(document.documentElement.getBoundingClientRect().height) }, "*");
}

addEventListener("message", (event: MessageEvent<unknown>) => {
  if (event.source !== parent || typeof event.data !== "object" || event.data === null) return;
  const { html, theme } = event.data as { html?: unknown; theme?: unknown };
  if (theme === "light" || theme === "dark") document.documentElement.style.colorScheme = theme;
  if (typeof html === "string") document.body.innerHTML = html;
  tellHeight();
});
new ResizeObserver(tellHeight).observe(document.documentElement);
parent.postMessage({ ready: true }, "*");
