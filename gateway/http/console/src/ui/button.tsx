// Buttons. A view has at most one primary button; `quiet` ones have no border until the pointer is over them.
import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./icon";

export type ButtonVariant = "primary" | "secondary" | "quiet" | "danger";

interface ButtonOptions extends Omit<JSX.IntrinsicElements["button"], "icon"> {
  variant?: ButtonVariant;
  icon?: IconName;
  children?: ComponentChildren;
}

export function Button({ variant = "secondary", icon, children, ...attributes }: ButtonOptions) {
  return (
    <button type="button" {...attributes} class={`button ${variant} ${attributes.class ?? ""}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that shows only an icon; `label` is its name and its tooltip. */
export function IconButton({ label, icon, ...attributes }: Omit<ButtonOptions, "children" | "label"> & { label: string; icon: IconName }) {
  return (
    <Button title={label} variant="quiet" {...attributes} class={`icon-only ${attributes.class ?? ""}`} aria-label={label}>
      <Icon name={icon} />
    </Button>
  );
}
