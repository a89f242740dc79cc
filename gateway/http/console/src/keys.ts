// Which item of a list or tree a key leads to; pure.

export interface TreeItem {
  /** Whether what is below it is shown; undefined where nothing can be. */
  isOpen?: boolean;
  /** The position of the item above it. */
  above?: number;
}

/** The position that a key leads to from `at` in a tree (-1: what is above the first item); `toggle` to open or close. */
export function treeStep(key: string, at: number, items: TreeItem[]): number | "toggle" | undefined {
  const item = items[at];
  switch (key) {
    case "ArrowDown":
      return at + 1 < items.length ? at + 1 : undefined;
    case "ArrowUp":
      return at - 1;
    case "ArrowRight":
      if (item?.isOpen === false) return "toggle";
      return item?.isOpen && items[at + 1]?.above === at ? at + 1 : undefined;
    case "ArrowLeft":
      return item?.isOpen ? "toggle" : item?.above;
    case "Home":
      return 0;
    case "End":
      return items.length - 1;
    default:
      return undefined;
  }
}

/** The tab that an arrow leads to from the one at `at` of `count`, around the ends. */
export function tabStep(key: string, at: number, count: number): number | undefined {
  const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
  return step ? (at + step + count) % count : undefined;
}
