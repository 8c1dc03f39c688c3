// SPDX-License-Identifier: Apache-2.0
// What the rest of the page uses of cells.
export { CellList } from "./list";
export { focusCell } from "./focus";
export { keepOutputs } from "./import";
export { insertCell } from "./edit";
export { Source } from "./highlight";
export { follow, interruptRun, resumeAll, runAll, runCell } from "./run";
