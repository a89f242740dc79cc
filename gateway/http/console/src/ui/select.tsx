// A choice of one from a list, with the keyboard and roles of the ARIA listbox pattern.
import { Select as AriaSelect, SelectArrow, SelectItem, SelectPopover, SelectProvider } from "@ariakit/react";
import { Icon, type IconName } from "./icon";

export interface Option<T extends string> {
  value: T;
  label?: string;
}

export function Select<T extends string>({ label, value, options, onChange, icon, isDisabled }: {
  label: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
  icon?: IconName;
  isDisabled?: boolean;
}) {
  const shown = options.find((option) => option.value === value);
  return (
    <SelectProvider value={value} setValue={(chosen: string | string[]) => onChange(chosen as T)}>
      <AriaSelect className="button secondary select" aria-label={label} title={label} disabled={isDisabled}>
        {icon && <Icon name={icon} />}
        <span class="select-value">{shown?.label ?? shown?.value ?? value}</span>
        <SelectArrow className="select-arrow" />
      </AriaSelect>
      <SelectPopover className="menu" gutter={4} portal unmountOnHide sameWidth={false}>
        {options.map((option) => (
          <SelectItem key={option.value} value={option.value} className="menu-item">
            <span class="menu-icon">{option.value === value && <Icon name="check" />}</span>
            <span>{option.label ?? option.value}</span>
          </SelectItem>
        ))}
      </SelectPopover>
    </SelectProvider>
  );
}
