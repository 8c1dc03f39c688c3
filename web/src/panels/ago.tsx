// SPDX-License-Identifier: Apache-2.0
import { useNow } from "../ui/now";
import { ago } from "./format";

const EVERY_MS = 5000;

/** How long ago something was, kept true while it is shown. */
export function Ago({ ms }: { ms: number }) {
  return <>{ago(ms, useNow(EVERY_MS))}</>;
}
