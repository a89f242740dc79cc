// What a part of the page shows without content: why it is empty, an error, and short messages that go by themselves.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

const SHOWN_MS = 6000;

/** A part of the page without content: says why, and what to do. */
export function EmptyState({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty-state">
      <Icon name={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Problem({ children }: { children: ComponentChildren }) {
  return <p class="problem" role="alert"><Icon name="error" />{children}</p>;
}

const messages = signal<{ id: number; text: string }[]>([]);
let last = 0;

/** Shows a message for some seconds; screen readers read it. */
export function notify(text: string): void {
  const id = ++last;
  messages.value = [...messages.value, { id, text }];
  setTimeout(() => (messages.value = messages.value.filter((message) => message.id !== id)), SHOWN_MS);
}

export function Notices() {
  return <div class="notices" role="status">{messages.value.map(({ id, text }) => <p key={id}>{text}</p>)}</div>;
}
