// A row of tabs that switch between views of one thing; arrows move between them.
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

export interface View<T extends string> {
  value: T;
  label: string;
  icon?: IconName;
  /** Such as a number of rows. */
  badge?: ComponentChildren;
  /** Such as `failed`, for styles and as a part of the tab's name. */
  state?: string;
}

export function Tabs<T extends string>({ label, value, views, onChange }: {
  label: string;
  value: T;
  views: readonly View<T>[];
  onChange: (value: T) => void;
}) {
  return (
    <div class="view-tabs" role="tablist" aria-label={label}>
      {views.map((view) => (
        <button key={view.value} type="button" role="tab" aria-selected={view.value === value} tabIndex={view.value === value ? 0 : -1} class="view-tab" data-state={view.state} title={view.label} onClick={() => onChange(view.value)}>
          {view.icon && <Icon name={view.icon} />}
          <span class="view-label">{view.label}</span>
          {view.state && <span class="hidden">, {view.state}</span>}
          {view.badge !== undefined && <span class="badge">{view.badge}</span>}
        </button>
      ))}
    </div>
  );
}
