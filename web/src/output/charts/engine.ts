// SPDX-License-Identifier: Apache-2.0
// The parts of ECharts that the page uses; loaded with the first chart.
import { BarChart, BoxplotChart, CustomChart, LineChart, PieChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, LegendComponent, TooltipComponent } from "echarts/components";
import { init, use, type ECharts } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

// A text that slipped through `drawnText` fails to be drawn instead of changing every object of the page.
Object.preventExtensions(Object.prototype);
Object.preventExtensions(Object);

use([LineChart, BarChart, PieChart, ScatterChart, BoxplotChart, CustomChart, GridComponent, TooltipComponent, LegendComponent, DataZoomComponent, CanvasRenderer]);

export type { ECharts };

export const makeChart = (element: HTMLElement): ECharts => init(element, null, { renderer: "canvas" });
