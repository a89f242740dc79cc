// Menus: a button that opens a list of commands, with the keyboard and roles of the ARIA menu button pattern.
import { Menu as AriaMenu, MenuButton, MenuItem, MenuProvider, MenuSeparator } from "@ariakit/react";
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

export interface Command {
  label: string;
  icon?: IconName;
  /** The keys that do the same, as text. */
  keys?: string;
  isDisabled?: boolean;
  isDangerous?: boolean;
  /** Marks the chosen one of several. */
  isChosen?: boolean;
  run: () => void;
}

/** A menu at a position of the page; it is there until it is closed. */
export function ContextMenu({ label, x, y, commands, onClose }: {
  label: string;
  x: number;
  y: number;
  commands: (Command | null)[];
  onClose: () => void;
}) {
  return (
    <MenuProvider open setOpen={(isOpen: boolean) => isOpen || onClose()} placement="bottom-start">
      <AriaMenu className="menu" aria-label={label} modal={false} autoFocusOnShow getAnchorRect={() => ({ x, y, width: 0, height: 0 })} gutter={2} portal>
        <MenuItems commands={commands} />
      </AriaMenu>
    </MenuProvider>
  );
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
        <MenuItems commands={commands} />
      </AriaMenu>
    </MenuProvider>
  );
}

function MenuItems({ commands }: { commands: (Command | null)[] }) {
  return (
    <>
      {commands.map((command, at) => command === null
        ? <MenuSeparator key={at} className="menu-line" />
        : (
          <MenuItem key={at} className={command.isDangerous ? "menu-item danger" : "menu-item"} disabled={command.isDisabled} onClick={command.run}>
            <span class="menu-icon">{command.isChosen ? <Icon name="check" /> : command.icon && <Icon name={command.icon} />}</span>
            <span>{command.label}</span>
            {command.keys && <kbd>{command.keys}</kbd>}
          </MenuItem>
        ))}
    </>
  );
}
