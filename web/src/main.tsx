// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { App } from "./app";
import "./style/fonts.css";
import "./style/base.css";

render(<App />, document.getElementById("app")!);
