// SPDX-License-Identifier: Apache-2.0
// The parts everything on the page is made of; icons are in ui/icons.
export { Button, IconButton, type ButtonTone } from "./button";
export { Switch } from "./switch";
export { Dialog } from "./dialog";
export { Asks, askConfirm, askText } from "./ask";
export { Menu, type MenuItem } from "./menu";
export { Tabs, type Tab } from "./tabs";
export { Loading, Progress, Spinner, useSlow } from "./progress";
export { Toasts } from "./toasts";
export { EmptyState } from "./empty";
import "../style/ui.css";
import "../style/overlays.css";
