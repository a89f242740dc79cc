// A dialog over the page: Escape and its button close it, and the focus goes back to where it was.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dialog({ onClose, children }: { onClose: () => void; children: ComponentChildren }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    button.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") onClose();
  };
  return (
    <dialog open onKeyDown={onKeyDown}>
      {children}
      <button ref={button} onClick={onClose}>Close</button>
    </dialog>
  );
}
