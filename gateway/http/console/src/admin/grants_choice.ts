// What the grants page shows, which other pages may choose.
import { signal } from "@preact/signals";
import { openPageTab } from "../state";
import type { Securable } from "./statements";

export type GrantsPart = "object" | "principal";

export const grantsPart = signal<GrantsPart>("object");
export const grantsObject = signal<Securable>({ kind: "SCHEMA", parts: [] });
export const grantsPrincipal = signal("");

export function showGrantsOf(principal: string): void {
  grantsPart.value = "principal";
  grantsPrincipal.value = principal;
  openPageTab("grants");
}

export function showGrantsOn(securable: Securable): void {
  grantsPart.value = "object";
  grantsObject.value = securable;
  openPageTab("grants");
}
