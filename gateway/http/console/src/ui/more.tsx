// Long lists: the first items, and a button for more, so that a page stays fast.
import { useState } from "preact/hooks";
import { formatCount } from "../format";
import { strings } from "../strings";
import { Button } from "./button";

export interface Shown<T> {
  items: T[];
  /** Draws the button for more; null if all items are shown. */
  more: preact.ComponentChild;
}

export function useShown<T>(items: readonly T[], step = 200): Shown<T> {
  const [count, setCount] = useState(step);
  const more = items.length > count
    ? (
      <p class="note">
        {strings.common.shownOf(formatCount(count), formatCount(items.length))}{" "}
        <Button onClick={() => setCount(count + step * 5)}>{strings.common.showMore}</Button>
      </p>
    )
    : null;
  return { items: items.slice(0, count), more };
}
