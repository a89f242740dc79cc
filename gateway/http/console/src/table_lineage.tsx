// The lineage of a table or view: what it came from, and where it went, by views and by the statements that wrote tables.
import { api, type LineageEdge, type TableDescription, type TableName } from "./api";
import { formatTime } from "./format";
import { openTableTab } from "./state";
import { strings } from "./strings";
import { Icon } from "./ui/icon";
import { useShown } from "./ui/more";
import { EmptyState, Problem } from "./ui/notice";
import { useLoad } from "./use_load";

const texts = strings.table;

export function Lineage({ name, table }: { name: TableName; table: TableDescription }) {
  const { value, problem } = useLoad(() => api.lineage(name), [name]);
  if (problem) return <Problem>{problem}</Problem>;
  if (!value) return <p class="note" role="status">{strings.common.loading}</p>;
  if (!value.upstream.length && !value.downstream.length) {
    return <EmptyState icon="lineage" title={texts.noLineage}><p>{texts.noLineageText}</p></EmptyState>;
  }
  return (
    <div class="lineage">
      <Side title={texts.upstream} edges={value.upstream} />
      <Icon name="right" size={24} />
      <section class="own"><span class="relation own" title={`${name.schema}.${name.table}`}><Icon name={table.type === "VIEW" ? "view" : "table"} /><span>{name.schema}.{name.table}</span></span></section>
      <Icon name="right" size={24} />
      <Side title={texts.downstream} edges={value.downstream} />
    </div>
  );
}

function Side({ title, edges }: { title: string; edges: LineageEdge[] }) {
  const neighbors = new Map<string, LineageEdge[]>();
  for (const edge of edges) {
    const key = JSON.stringify([edge.catalog, edge.schema, edge.name, edge.path]);
    neighbors.set(key, [...(neighbors.get(key) ?? []), edge]);
  }
  const { items, more } = useShown([...neighbors], 50);
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {!items.length && <p class="note">{texts.noRelations}</p>}
      <ul>{items.map(([key, found]) => <li key={key}><Neighbor edges={found} /></li>)}</ul>
      {more}
    </section>
  );
}

/** One table, view or path, with the statements of each type. */
function Neighbor({ edges }: { edges: LineageEdge[] }) {
  const [first] = edges;
  if (!first) return null;
  const { catalog, schema, name } = first;
  return (
    <>
      {catalog !== null && schema !== null && name !== null
        ? (
          <button type="button" class="relation" title={`${catalog}.${schema}.${name}`} onClick={() => openTableTab({ catalog, schema, table: name })}>
            <Icon name={first.type === "VIEW" ? "view" : "table"} />
            <span>{schema}.{name}</span>
          </button>
        )
        : <span class="relation" title={first.path ?? ""}><Icon name="folder" /><span class="path">{first.path}</span></span>}
      {edges.map((edge) => <Statements key={edge.statement_type} edge={edge} />)}
    </>
  );
}

function Statements({ edge }: { edge: LineageEdge }) {
  if (edge.last_ms === null) return <p class="note edge">{texts.byText}</p>;
  return (
    <div class="edge">
      <p class="note">
        <span class="mark">{edge.statement_type}</span>
        <span title={texts.firstStatement(formatTime(edge.first_ms ?? edge.last_ms))}>{formatTime(edge.last_ms)}</span>{" "}
        <span>{texts.lastStatement(edge.user ?? "", edge.count ?? 1)}</span>
      </p>
      {edge.columns.length > 0 && (
        <details>
          <summary>{texts.columnEdges(edge.columns.length)}</summary>
          <ul>{edge.columns.map(([source, target]) => <li key={`${source} ${target}`} class="code">{source} → {target}</li>)}</ul>
        </details>
      )}
    </div>
  );
}
