// SPDX-License-Identifier: Apache-2.0
// Kinds of JSON in a notebook. The first three are ours alone: read back by us, left alone by others, who show the
// picture or the text beside them.
export const CHART = "application/vnd.vivarium.chart+json";
export const FIGURE = "application/vnd.vivarium.figure+json";
export const TABLE = "application/vnd.vivarium.table+json";
export const PLOTLY = "application/vnd.plotly.v1+json";

export const isJsonMime = (mime: string) => mime === "application/json" || mime.endsWith("+json");
