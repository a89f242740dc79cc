// The tree of catalogs, schemas and tables. Levels are fetched when they are opened.
import { useState } from "preact/hooks";
import { api } from "./api";
import { insertText } from "./editor";
import { treeStep } from "./keys";
import { written } from "./names";
import { openTableTab } from "./state";
import { useLoad } from "./use_load";

export function Browser({ reload }: { reload: number }) {
  const [filter, setFilter] = useState("");
  const { value: found, problem } = useLoad(() => api.catalogs(), [reload]);
  return (
    <nav class="browser" aria-label="Catalog" onKeyDown={onKey}>
      <input
        id="filter"
        type="search"
        placeholder="Filter tables (Ctrl-K)"
        aria-label="Filter tables"
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      {problem && <p class="problem">{problem}</p>}
      <ul role="tree" class={filter ? "filtered" : ""}>
        {(found?.catalogs ?? []).map(({ name }) => <Catalog key={name} name={name} isOpen={name === found?.current} current={found?.current} filter={filter} reload={reload} />)}
      </ul>
    </nav>
  );
}

/** Arrows go through the tree and the filter above it, Enter in the filter opens the first table. */
function onKey(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const filter = document.getElementById("filter") as HTMLElement;
  const all = event.currentTarget.querySelectorAll<HTMLButtonElement>("[role=tree] button");
  const items = [...all].filter((item) => item.offsetParent !== null); // the filter hides some
  const at = items.indexOf(event.target as HTMLButtonElement);
  if (at < 0 && event.key === "Enter") items.find((item) => item.classList.contains("leaf"))?.click();
  if (at < 0 && event.key !== "ArrowDown") return;
  const levels = items.map((item) => {
    const own = item.closest("[role=treeitem]") as HTMLElement;
    const expanded = own.getAttribute("aria-expanded");
    const above = own.parentElement?.closest("[role=treeitem]")?.querySelector("button");
    return { isOpen: expanded === null ? undefined : expanded === "true", above: above ? items.indexOf(above) : undefined };
  });
  const step = treeStep(event.key, at, levels);
  if (step === undefined) return;
  event.preventDefault();
  if (step === "toggle") items[at]?.click();
  else (step < 0 ? filter : items[step])?.focus();
}

/** `current` is the catalog that statements begin in. */
interface Level {
  name: string;
  current: string | undefined;
  filter: string;
  reload: number;
}

function Catalog({ name, isOpen, current, filter, reload }: Level & { isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen);
  return (
    <li role="treeitem" aria-expanded={open}>
      <button class="level" onClick={() => setOpen(!open)}><span class="twist">{open ? "▾" : "▸"}</span>{name}</button>
      {open && <Schemas name={name} current={current} filter={filter} reload={reload} />}
    </li>
  );
}

function Schemas({ name, current, filter, reload }: Level) {
  const { value: schemas, problem } = useLoad(() => api.schemas(name), [name, reload]);
  if (problem) return <p class="problem">{problem}</p>;
  return (
    <ul role="group">
      {(schemas ?? []).map((schema) => <Schema key={schema.name} catalog={name} name={schema.name} current={current} filter={filter} reload={reload} />)}
    </ul>
  );
}

function Schema({ catalog, name, current, filter, reload }: Level & { catalog: string }) {
  const [chosen, setOpen] = useState<boolean>();
  const open = chosen ?? (filter !== "" || name === "default");
  return (
    <li role="treeitem" aria-expanded={open}>
      <button class="level" onClick={() => setOpen(!open)}><span class="twist">{open ? "▾" : "▸"}</span>{name}</button>
      {open && <Tables catalog={catalog} name={name} current={current} filter={filter} reload={reload} />}
    </li>
  );
}

function Tables({ catalog, name: schema, current, filter, reload }: Level & { catalog: string }) {
  const { value: tables, problem } = useLoad(() => api.tables(catalog, schema), [catalog, schema, reload]);
  if (problem) return <p class="problem">{problem}</p>;
  const wanted = (tables ?? []).filter((table) => table.name.toLowerCase().includes(filter.toLowerCase()));
  return (
    <ul role="group">
      {wanted.map((table) => (
        <li role="treeitem" key={table.name}>
          <button
            class={table.type === "VIEW" ? "leaf view" : "leaf"}
            title={table.comment ?? "A click shows the table; the right button, or Shift-Enter, puts its name into the editor."}
            onClick={() => openTableTab({ catalog, schema, table: table.name })}
            onContextMenu={(event) => {
              event.preventDefault();
              insertText(written({ catalog, schema, table: table.name }, current));
            }}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !event.shiftKey) return;
              event.preventDefault();
              insertText(written({ catalog, schema, table: table.name }, current));
            }}
          >
            {table.name}
          </button>
        </li>
      ))}
    </ul>
  );
}
