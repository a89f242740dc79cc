// An error of a statement in its parts, with a link to its position in the editor.
import type { Failure } from "./api";
import { revealRange } from "./editor";
import { failureParts, failureRange, lineAndColumn } from "./failure_parts";
import type { Run, SqlTab } from "./state";
import { strings } from "./strings";
import { Button } from "./ui/button";
import { Icon } from "./ui/icon";

export function FailurePanel({ tab, run, failure }: { tab: SqlTab; run: Run; failure: Failure }) {
  const text = tab.text.value;
  const range = failureRange(text, run);
  const { line, column } = range ? lineAndColumn(text, range.from) : { line: 0, column: 0 };
  const parts = failureParts(failure);
  return (
    <div class="failure" role="alert">
      <p class="failure-text"><Icon name="error" size={18} /><span>{parts.text}</span></p>
      {range && <Button icon="right" title={strings.results.showPosition} onClick={() => revealRange(range)}>{strings.results.line(line, column)}</Button>}
      {failure.excerpt && <pre class="excerpt">{failure.excerpt}</pre>}
      {parts.hint && <p class="failure-hint"><b>{strings.results.hint}</b> {parts.hint}</p>}
      {parts.rest && <pre>{parts.rest}</pre>}
      <dl class="failure-codes">
        {parts.condition && <div><dt>{strings.results.condition}</dt><dd class="code">{parts.condition}</dd></div>}
        {parts.sqlState && <div><dt>{strings.results.sqlState}</dt><dd class="code">{parts.sqlState}</dd></div>}
      </dl>
    </div>
  );
}
