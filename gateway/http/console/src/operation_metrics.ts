// Metrics of a version's operation as text; pure. Delta's writers spell them `numAddedFiles` or `num_added_files`,
// Iceberg's `added-data-files`.
import { formatBytes, formatCount } from "./format";

const DELTA = /^num(_|(?=[A-Z]))/;
const ICEBERG = /^(added|deleted|removed|changed)-/;

export function metricTexts(metrics: Record<string, string> | null | undefined): string[] {
  return Object.entries(metrics ?? {}).flatMap(([key, value]) => {
    if ((!DELTA.test(key) && !ICEBERG.test(key)) || value === "0") return [];
    const words = key.replace(DELTA, "").replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]/g, " ").toLowerCase();
    const number = Number(value);
    if (!Number.isFinite(number)) return [`${words} ${value}`];
    return [`${words} ${/\b(bytes|size)\b/.test(words) ? formatBytes(number) : formatCount(number)}`];
  });
}

/** A number with its noun in the right form, as in "1 file" and "2 files". */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}
