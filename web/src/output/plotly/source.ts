// SPDX-License-Identifier: Apache-2.0
// Plotly as text: the page never runs it. It is handed to the frame, which can fetch nothing itself and whose policy lets
// exactly these bytes run, by their sum (src/page/pack.py). So it must come as it is, not as a part of a bundle.
import address from "plotly.js-basic-dist-min/plotly-basic.min.js?url";

let source: Promise<string> | null = null;

export function plotlySource(): Promise<string> {
  source ??= fetch(address)
    .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(`the daemon answered ${answer.status}`))))
    .catch((cause) => {
      source = null; // asked again with the next figure
      throw cause;
    });
  return source;
}
