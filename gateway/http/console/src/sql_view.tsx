// A tab with SQL: a toolbar, the editor, and the results below it.
import { Editor, formatShown, runAll, runShown } from "./editor";
import { formatCount, formatTime } from "./format";
import { currentCatalog, schemas } from "./names";
import { ParameterFields } from "./parameter_fields";
import { Results } from "./results";
import { cancelRun, isBusy, useSchema } from "./runner";
import { copyLink, queryDialog, saveTab } from "./saved_queries";
import { SqlText } from "./sql_text";
import { continuesOnError, openSqlTab, rowLimit, type SqlTab } from "./state";
import { strings } from "./strings";
import { Button } from "./ui/button";
import { Menu } from "./ui/menu";
import { Select } from "./ui/select";

const ROW_LIMITS = [1000, 10_000, 100_000, 1_000_000, 10_000_000];

export function SqlView({ tab }: { tab: SqlTab }) {
  return (
    <section class="sql">
      {tab.isLinked ? <LinkedStatement tab={tab} /> : (
        <>
          <Toolbar tab={tab} />
          <Editor tab={tab} />
          <ParameterFields tab={tab} />
        </>
      )}
      <Results tab={tab} />
    </section>
  );
}

/** The statement of a link: its text and state. */
function LinkedStatement({ tab }: { tab: SqlTab }) {
  const run = tab.run.value;
  if (!run) return null;
  const { info, text } = run;
  return (
    <div class="linked">
      <div class="bar-line" role="toolbar" aria-label={strings.editor.toolbar}>
        <span class="note" role="status">
          {[strings.results.states[run.state], info?.user_name, info && formatTime(info.query_start_time_ms)].filter(Boolean).join(" · ")}
        </span>
        <span class="spacer" />
        <Button icon="open" disabled={!text} onClick={() => void openSqlTab(text)}>{strings.queries.openText}</Button>
      </div>
      {text ? <SqlText text={text} /> : <p class="note">{strings.queries.unknownText}</p>}
    </div>
  );
}

function Toolbar({ tab }: { tab: SqlTab }) {
  const saved = tab.saved.value;
  return (
    <div class="bar-line" role="toolbar" aria-label={strings.editor.toolbar}>
      {isBusy(tab)
        ? <Button variant="danger" icon="stop" title="Ctrl-." onClick={() => void cancelRun(tab)}>{strings.editor.cancel}</Button>
        : (
          <>
            <Button variant="primary" icon="play" title={strings.editor.runHelp} onClick={runShown}>{strings.editor.run}</Button>
            <Button icon="runAll" title={strings.editor.runAllHelp} onClick={runAll}>{strings.editor.runAll}</Button>
          </>
        )}
      <Menu
        label={strings.editor.commands}
        icon="more"
        commands={[
          { label: strings.editor.format, icon: "format", keys: "Shift-Alt-F", run: () => void formatShown() },
          { label: strings.queries.saveAs, icon: "save", run: () => void (queryDialog.value = { kind: "save", tab }) },
          ...(saved ? [{ label: strings.queries.copyLink, icon: "link" as const, run: () => void copyLink("query", saved.id) }] : []),
          ...(saved?.permission === "OWNER" ? [{ label: strings.queries.share, icon: "share" as const, run: () => void (queryDialog.value = { kind: "share", query: saved }) }] : []),
          null,
          { label: strings.editor.continueOnError, isChosen: continuesOnError.value, run: () => void (continuesOnError.value = !continuesOnError.value) },
        ]}
      />
      <Button variant="quiet" icon="save" title={strings.queries.saveHelp} onClick={() => void saveTab(tab)}>{strings.queries.save}</Button>
      <span class="spacer" />
      <Context tab={tab} />
      <Select
        label={strings.editor.firstRows}
        value={String(rowLimit.value)}
        options={ROW_LIMITS.map((limit) => ({ value: String(limit), label: `${formatCount(limit)} rows` }))}
        onChange={(limit) => (rowLimit.value = Number(limit))}
      />
    </div>
  );
}

/** Current catalog and schema of the tab's session; a choice is USE. */
function Context({ tab }: { tab: SqlTab }) {
  const known = schemas.value;
  const current = JSON.stringify([tab.catalog.value ?? currentCatalog.value, tab.schema.value ?? "default"]);
  const options = known.map((pair) => ({ value: JSON.stringify(pair), label: pair.join(".") }));
  if (!options.some(({ value }) => value === current)) options.unshift({ value: current, label: JSON.parse(current).join(".") });
  return (
    <Select
      label={strings.editor.context}
      icon="database"
      value={current}
      options={options}
      isDisabled={isBusy(tab)}
      onChange={(chosen) => {
        const [catalog, schema] = JSON.parse(chosen) as [string, string];
        void useSchema(tab, catalog, schema);
      }}
    />
  );
}
