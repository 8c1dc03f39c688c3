// SPDX-License-Identifier: Apache-2.0
import { Layout } from "./shell/layout";
import { route } from "./state/route";
import "./state/settings";
import { Asks, Toasts } from "./ui";

export function App() {
  return (
    <>
      <Layout sidebar={null}>{route.value.page}</Layout>
      <Toasts />
      <Asks />
    </>
  );
}
