// SPDX-License-Identifier: Apache-2.0
declare module "plotly.js-basic-dist-min" {
  interface Plotly {
    react(element: HTMLElement, data: unknown[], layout: object, config: object): Promise<unknown>;
    toImage(element: HTMLElement, how: { format: "png"; width: number; height: number; scale: number }): Promise<string>;
    purge(element: HTMLElement): void;
    Plots: { resize(element: HTMLElement): void };
  }
  const plotly: Plotly;
  export default plotly;
}
