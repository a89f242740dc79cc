// A dialog whose form makes a statement. The statement is shown before it runs, and its error below it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { failureOf } from "../runner";
import { strings } from "../strings";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { notify, Problem } from "../ui/notice";
import { runSql } from "./run_sql";

export function StatementDialog({ title, statement, action, done, isDangerous = false, onClose, onDone, children }: {
  title: string;
  /** Undefined while the form is not complete. */
  statement: string | undefined;
  action: string;
  /** The message after it has run. */
  done: string;
  isDangerous?: boolean;
  onClose: () => void;
  onDone: () => void;
  children?: ComponentChildren;
}) {
  const [problem, setProblem] = useState<string>();
  const [isRunning, setRunning] = useState(false);
  const run = async () => {
    if (!statement || isRunning) return;
    setRunning(true);
    try {
      const { warnings } = await runSql(statement);
      notify([done, ...warnings].join(" "));
      onDone();
      onClose();
    } catch (error) {
      setProblem(failureOf(error).message);
      setRunning(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      class="statement-dialog"
      actions={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button variant={isDangerous ? "danger" : "primary"} disabled={!statement || isRunning} onClick={() => void run()}>{action}</Button>
        </>
      }
    >
      <form class="fields" onSubmit={(event) => (event.preventDefault(), void run())}>
        {children}
        <button type="submit" hidden />
      </form>
      <h3 id="statement-head">{strings.admin.statement}</h3>
      {statement
        ? <pre class="statement-text" aria-labelledby="statement-head">{statement}</pre>
        : <p class="note">{strings.admin.incomplete}</p>}
      {problem && <Problem>{problem}</Problem>}
    </Dialog>
  );
}
