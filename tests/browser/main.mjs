// SPDX-License-Identifier: Apache-2.0
// Runs the files *.test.mjs of this folder, each of which is a subject.
import { readdirSync } from "node:fs";
import { run } from "./lib/runner.mjs";

const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".test.mjs")).sort();
const subjects = await Promise.all(files.map(async (name) => (await import(new URL(name, import.meta.url))).default));
process.exit(await run(subjects, process.argv.slice(2)));
