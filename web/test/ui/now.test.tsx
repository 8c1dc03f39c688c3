// SPDX-License-Identifier: Apache-2.0
import { act, cleanup, render } from "@testing-library/preact";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Ago } from "../../src/panels/ago";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000_000, toFake: ["Date", "setInterval", "clearInterval"] }));
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

it("tells all ages on the page of the same moment", async () => {
  const begun = Date.now();
  const List = ({ states }: { states: number[] }) => <ol>{states.map((ms) => <li key={ms}><Ago ms={ms} /></li>)}</ol>;
  const { container, rerender } = render(<List states={[begun - 20_000]} />);
  const told = () => [...container.querySelectorAll("li")].map((item) => item.textContent);
  expect(told()).toEqual(["20 s ago"]);
  act(() => void vi.advanceTimersByTime(4000));
  rerender(<List states={[begun - 18_000, begun - 20_000]} />); // the newer state came later
  expect(told()).toEqual(["18 s ago", "20 s ago"]);
  act(() => void vi.advanceTimersByTime(1000));
  expect(told()).toEqual(["23 s ago", "25 s ago"]);
  cleanup();
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(0)); // effects end after the page is drawn
  vi.advanceTimersByTime(60_000); // nobody reads the clock meanwhile
  expect(render(<Ago ms={begun} />).container.textContent).toBe("1 min ago");
});
