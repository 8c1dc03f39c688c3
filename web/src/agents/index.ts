// SPDX-License-Identifier: Apache-2.0
// What the rest of the page uses of agents.
export { HeldBanner } from "./banner";
export { FollowSwitch } from "./follow";
export { heldCount } from "./held";
export { watchAgents } from "./watch";
