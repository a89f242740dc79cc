// The frame of a page that exists once: its name, what it is for, and its actions.
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

export function Page({ icon, title, intro, actions, children, class: name = "" }: {
  icon: IconName;
  title: string;
  intro?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
  class?: string;
}) {
  return (
    <section class={`page ${name}`}>
      <header class="page-head">
        <Icon name={icon} size={20} />
        <h2>{title}</h2>
        <div class="page-actions">{actions}</div>
      </header>
      {intro && <p class="note">{intro}</p>}
      {children}
    </section>
  );
}

/** A line that a reader should see before the content, such as that grants have no effect here. */
export function Banner({ children }: { children: ComponentChildren }) {
  return <p class="banner" role="note"><Icon name="warning" />{children}</p>;
}

/** A control with its label above it. */
export function Field({ label, children, hint }: { label: string; children: ComponentChildren; hint?: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <span class="hint">{hint}</span>}
    </label>
  );
}
