// SQL as highlighted text that cannot be changed.
import { classHighlighter, highlightCode } from "@lezer/highlight";
import { Fragment, type ComponentChildren } from "preact";
import { sparkDialect } from "./spark_dialect";

export function SqlText({ text }: { text: string }) {
  const parts: ComponentChildren[] = [];
  highlightCode(
    text,
    sparkDialect.language.parser.parse(text),
    classHighlighter,
    (code, classes) => parts.push(classes ? <span key={parts.length} class={classes}>{code}</span> : <Fragment key={parts.length}>{code}</Fragment>),
    () => parts.push("\n"),
  );
  return <pre class="sql-text">{parts}</pre>;
}
