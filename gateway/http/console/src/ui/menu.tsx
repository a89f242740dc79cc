// Menus: a button that opens a list of commands, with the keyboard and roles of the ARIA menu button pattern.
import { Menu as AriaMenu, MenuButton, MenuItem, MenuProvider, MenuSeparator, useMenuStore } from "@ariakit/react";
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

export interface Command {
  label: string;
  icon?: IconName;
  /** The keys that do the same, as text. */
  keys?: string;
  isDisabled?: boolean;
  isDangerous?: boolean;
  /** Leaves the menu open, for several choices in a row. */
  keepsOpen?: boolean;
  /** Marks the chosen one of several. */
  isChosen?: boolean;
  run: () => void;
}

/** `null` in `commands` draws a line. */
export function Menu({ label, icon, children, commands, class: name = "" }: {
  label: string;
  icon?: IconName;
  children?: ComponentChildren;
  commands: (Command | null)[];
  class?: string;
}) {
  return (
    <MenuProvider>
      <MenuButton className={`button quiet ${children ? "" : "icon-only"} ${name}`} aria-label={label} title={label}>
        {icon && <Icon name={icon} />}
        {children}
      </MenuButton>
      <AriaMenu className="menu" gutter={4} portal unmountOnHide>
        <Commands commands={commands} />
      </AriaMenu>
    </MenuProvider>
  );
}

/** A menu without a button, at a place of the page; it is open until a command is chosen or it is dismissed. */
export function ContextMenu({ label, commands, at, onClose }: {
  label: string;
  commands: (Command | null)[];
  at: { x: number; y: number };
  onClose: () => void;
}) {
  const store = useMenuStore({ open: true, setOpen: (open: boolean) => open || onClose() });
  return (
    <AriaMenu className="menu" store={store} aria-label={label} getAnchorRect={() => at} gutter={2} portal autoFocusOnShow>
      <Commands commands={commands} />
    </AriaMenu>
  );
}

function Commands({ commands }: { commands: (Command | null)[] }) {
  return (
    <>
      {commands.map((command, at) => command === null
        ? <MenuSeparator key={at} className="menu-line" />
        : (
          <MenuItem key={at} className={command.isDangerous ? "menu-item danger" : "menu-item"} disabled={command.isDisabled} hideOnClick={!command.keepsOpen} onClick={command.run}>
            <span class="menu-icon">{command.isChosen ? <Icon name="check" /> : command.icon && <Icon name={command.icon} />}</span>
            <span>{command.label}</span>
            {command.keys && <kbd>{command.keys}</kbd>}
          </MenuItem>
        ))}
    </>
  );
}
