// SPDX-License-Identifier: Apache-2.0
import { route } from "./state/route";
import "./state/settings";

export function App() {
  return <main>{route.value.page}</main>;
}
