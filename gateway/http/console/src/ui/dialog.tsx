// Dialogs over the page. Escape and a click outside close them, and the focus returns to where it was.
import { Dialog as AriaDialog, DialogDismiss, DialogHeading } from "@ariakit/react";
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { strings } from "../strings";
import { Button } from "./button";
import { Icon } from "./icon";

export function Dialog({ title, onClose, children, actions, class: name = "" }: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** The buttons at the end; a dialog without any is closed by its cross. */
  actions?: ComponentChildren;
  class?: string;
}) {
  return (
    <AriaDialog className={`dialog ${name}`} open onClose={onClose} backdrop={<div class="backdrop" />} portal>
      <header class="dialog-head">
        <DialogHeading className="dialog-title">{title}</DialogHeading>
        <DialogDismiss className="button quiet icon-only" aria-label={strings.common.close}><Icon name="close" /></DialogDismiss>
      </header>
      <div class="dialog-body">{children}</div>
      {actions && <footer class="dialog-actions">{actions}</footer>}
    </AriaDialog>
  );
}

interface Question {
  title: string;
  text: string;
  action: string;
  /** The text of the input field; undefined if the question has none. */
  value?: string;
  answer: (given: string | undefined) => void;
}

const question = signal<Question>();

/** Asks before something that cannot be undone; resolves to whether the user agreed. */
export async function confirmed(title: string, text: string, action: string): Promise<boolean> {
  return (await ask({ title, text, action })) !== undefined;
}

/** Asks for a text; resolves to undefined if the user closed the dialog. */
export function asked(title: string, text: string, action: string, value: string): Promise<string | undefined> {
  return ask({ title, text, action, value });
}

function ask(asking: Omit<Question, "answer">): Promise<string | undefined> {
  return new Promise((resolve) => {
    question.value = {
      ...asking,
      answer: (given) => {
        question.value = undefined;
        resolve(given);
      },
    };
  });
}

/** The dialog for the question that is open; the page has it once. */
export function Questions() {
  return question.value ? <OpenQuestion key={question.value.title} asking={question.value} /> : null;
}

function OpenQuestion({ asking }: { asking: Question }) {
  const [value, setValue] = useState(asking.value ?? "");
  const agree = () => asking.answer(value);
  return (
    <Dialog
      title={asking.title}
      onClose={() => asking.answer(undefined)}
      actions={
        <>
          <Button onClick={() => asking.answer(undefined)}>{strings.common.cancel}</Button>
          <Button variant="primary" onClick={agree}>{asking.action}</Button>
        </>
      }
    >
      {asking.value === undefined
        ? <p>{asking.text}</p>
        : (
          <form onSubmit={(event) => (event.preventDefault(), agree())}>
            <label class="field">
              <span>{asking.text}</span>
              <input autofocus value={value} onInput={(event) => setValue(event.currentTarget.value)} />
            </label>
          </form>
        )}
    </Dialog>
  );
}
