// Loads what a part of the page shows.
import { useEffect, useState } from "preact/hooks";
import { failureOf } from "./runner";

export interface Loaded<T> {
  value?: T;
  problem?: string;
}

/** `load` again whenever one of `inputs` changes; what was there before stays until then. */
export function useLoad<T>(load: () => Promise<T>, inputs: unknown[]): Loaded<T> {
  const [found, setFound] = useState<Loaded<T>>({});
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setFound({ value }),
      (error: unknown) => isCurrent && setFound({ problem: failureOf(error).message }),
    );
    return () => {
      isCurrent = false;
    };
  }, inputs);
  return found;
}
