// Rectangles whose areas are to each other as the given sizes, as near to squares as can be (Bruls, Huizing, van Wijk).

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** `sizes` are positive and descend; the boxes fill `width` by `height`. */
export function squarify(sizes: number[], width: number, height: number): Box[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const areas = sizes.map((size) => (size / total) * width * height);
  const boxes: Box[] = [];
  let free: Box = { x: 0, y: 0, width, height };
  for (let at = 0; at < areas.length; ) {
    const side = Math.min(free.width, free.height);
    let count = 1;
    while (at + count < areas.length && worst(areas, at, count + 1, side) <= worst(areas, at, count, side)) count++;
    const row = areas.slice(at, at + count);
    const area = row.reduce((sum, each) => sum + each, 0);
    const thickness = side ? area / side : 0;
    const isUpright = free.width >= free.height;
    let offset = 0;
    for (const each of row) {
      const length = thickness ? each / thickness : 0;
      boxes.push(
        isUpright
          ? { x: free.x, y: free.y + offset, width: thickness, height: length }
          : { x: free.x + offset, y: free.y, width: length, height: thickness },
      );
      offset += length;
    }
    free = isUpright
      ? { ...free, x: free.x + thickness, width: Math.max(0, free.width - thickness) }
      : { ...free, y: free.y + thickness, height: Math.max(0, free.height - thickness) };
    at += count;
  }
  return boxes;
}

/** The worst ratio of sides in a row of `count` areas along `side`. */
function worst(areas: number[], from: number, count: number, side: number): number {
  const row = areas.slice(from, from + count);
  const area = row.reduce((sum, each) => sum + each, 0);
  const [largest, smallest] = [row[0] as number, row[row.length - 1] as number];
  return Math.max((side * side * largest) / (area * area), (area * area) / (side * side * smallest));
}
