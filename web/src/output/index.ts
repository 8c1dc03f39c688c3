// SPDX-License-Identifier: Apache-2.0
// What other parts of the page use.
export { OutputView } from "./view";
export type { FindCell } from "./traceback";
export { TextView } from "./text";
export { TableView } from "./tables/view";
export { readTable, type Table } from "./tables/table";
export { ImageView, BlobImage } from "./image";
export { JsonView } from "./json";
export { ChartView } from "./charts/view";
export { formatBytes, formatCount, formatMs, plural } from "./format";
export { saveAs, fileName } from "./parts";
