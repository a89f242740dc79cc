// JSON whose whole numbers stay what they are: those beyond 2^53, such as ids of Iceberg's snapshots, become text.

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

export function parseExact(text: string): unknown {
  const revive: Reviver = (_, value, context) => {
    const source = context?.source;
    return typeof value === "number" && !Number.isSafeInteger(value) && source && /^-?\d+$/.test(source) ? source : value;
  };
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]);
}
