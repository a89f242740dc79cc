import assert from "node:assert/strict";
import { test } from "node:test";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { rowsAsText } from "./clipboard";
import { RowWindows, SHOWN_CHARACTERS, WINDOW_ROWS, asTabbedText, decodeNumbers } from "./rows";

function stream(offset: number, limit: number): Uint8Array {
  const ids = Array.from({ length: limit }, (_, at) => String(offset + at));
  return tableToIPC(tableFromArrays({ id: ids }));
}

test("windows are fetched once, and given up for others", async () => {
  const asked: number[] = [];
  const rows = new RowWindows(10_000, async (offset, limit, signal) => {
    asked.push(offset);
    await new Promise((resolve) => setTimeout(resolve, 5));
    signal.throwIfAborted();
    return stream(offset, limit);
  });
  const left = assert.rejects(rows.show(9000, 9001), { name: "AbortError" });
  await rows.show(499, 501);
  await left;
  assert.equal(rows.cell(499, 0), "499");
  assert.equal(rows.cell(500, 0), "500");
  assert.equal(rows.cell(9000, 0), undefined);
  await rows.show(0, 10);
  assert.deepEqual(asked, [9000, 0, WINDOW_ROWS]);
});

test("a window that failed is fetched again", async () => {
  let calls = 0;
  const rows = new RowWindows(10, async (offset, limit) => {
    if (!calls++) throw new Error("lost");
    return stream(offset, limit);
  });
  await assert.rejects(rows.show(0, 9));
  await rows.show(0, 9);
  assert.equal(rows.cell(9, 0), "9");
});

test("few windows are kept", async () => {
  const rows = new RowWindows(WINDOW_ROWS * 100, async (offset, limit) => stream(offset, limit));
  for (let at = 0; at < 60; at++) await rows.show(at * WINDOW_ROWS, at * WINDOW_ROWS);
  assert.equal(rows.has(0), false);
  assert.equal(rows.has(59 * WINDOW_ROWS), true);
});

test("what is looked at is cut, and what is copied is whole", async () => {
  const cuts: (number | undefined)[] = [];
  const rows = new RowWindows(10, async (offset, limit, _, cut) => (cuts.push(cut), stream(offset, limit)));
  await rows.show(0, 1);
  await rows.lines(0, 1, [0]);
  assert.deepEqual(cuts, [SHOWN_CHARACTERS, undefined]);
});

test("lines are those from the first to the last row", async () => {
  const rows = new RowWindows(600, async (offset, limit) => stream(offset, Math.min(limit, 600 - offset)));
  const lines = await rows.lines(498, 10_000, [0]);
  assert.equal(lines.length, 102);
  assert.deepEqual([lines[0], lines.at(-1)], [["498"], ["599"]]);
});

test("copies end at the limit of characters, and count whole rows", async () => {
  const rows = new RowWindows(25_000, async (offset, limit) => stream(offset, limit));
  const copied = async (max: number) => {
    const counts: number[] = [];
    const range = { first: 0, last: 24_999, columns: [0], header: ["id"] };
    const { text, rows: count } = await rowsAsText(rows, range, (done) => counts.push(done), new AbortController().signal, max);
    return [count, text.split("\n").at(-1), text.length <= max, counts.length];
  };
  assert.deepEqual(await copied(1_000_000), [25_000, "24999", true, 3]);
  assert.deepEqual(await copied(20), [9, "8", true, 1]);
  assert.deepEqual(await copied(2 + 20_000 * 5), [18_518, "18517", true, 2]);
});

test("many columns are fetched all, and copied as they are selected", async () => {
  const wide = tableToIPC(tableFromArrays(Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`c${at}`, [String(at)]]))));
  const asked: (number[] | undefined)[] = [];
  const rows = new RowWindows(1, async (_, __, ___, ____, columns) => (asked.push(columns), wide));
  const columns = Array.from({ length: 590 }, (_, at) => at + 10);
  assert.deepEqual((await rows.lines(0, 0, columns))[0]?.slice(0, 2), ["10", "11"]);
  assert.deepEqual(asked, [undefined]);
});

test("a cancelled copy ends", async () => {
  const rows = new RowWindows(25_000, async (offset, limit, signal) => (signal.throwIfAborted(), stream(offset, limit)));
  const abort = new AbortController();
  const copying = rowsAsText(rows, { first: 0, last: 24_999, columns: [0] }, () => abort.abort(), abort.signal);
  await assert.rejects(copying, { name: "AbortError" });
});

test("copied cells are what a spreadsheet takes", () => {
  assert.equal(asTabbedText([["a", null], ['say "x"', "1\t2"]]), 'a\t\n"say ""x"""\t"1\t2"');
});

test("numbers come with nulls", () => {
  const table = tableFromArrays({ n: new Float64Array([1.5, -2]) });
  assert.deepEqual(decodeNumbers(tableToIPC(table)), [[1.5, -2]]);
});
