// The list of saved queries beside the editor: folders of the user's own, then what others have shared.
import { useEffect, useState } from "preact/hooks";
import type { SavedQuery } from "./api";
import { folderTree, type QueryFolder } from "./query_tree";
import {
  copyLink, deleteFolder, deleteQuery, deleteUnreadable, duplicateQuery, hasChanges, listProblem, loadQueries, moveFolder, moveQuery, openQuery, queryDialog, renameQuery,
  savedQueries, searchText, unreadableQueries, userName,
} from "./saved_queries";
import { activeTab } from "./state";
import { strings } from "./strings";
import { IconButton } from "./ui/button";
import { Icon } from "./ui/icon";
import { Menu, type Command } from "./ui/menu";
import { EmptyState, Problem } from "./ui/notice";

const SEARCH_AFTER_MS = 250;

export function SavedQueries() {
  const text = searchText.value;
  useEffect(() => {
    const timer = setTimeout(() => void loadQueries(), listProblem.peek() === undefined ? 0 : SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const own = savedQueries.value.filter(({ owner_user_name: owner }) => owner === userName.value);
  const owners = [...new Set(savedQueries.value.map(({ owner_user_name: owner }) => owner))].filter((owner) => owner !== userName.value);
  const isLoaded = listProblem.value === "";
  return (
    <nav class="browser saved-queries" aria-label={strings.queries.title}>
      <input type="search" placeholder={strings.queries.search} aria-label={strings.queries.search} value={text} onInput={(event) => (searchText.value = event.currentTarget.value)} />
      {listProblem.value && <Problem>{listProblem.value}</Problem>}
      {isLoaded && !savedQueries.value.length && (text
        ? <p class="empty">{strings.queries.noMatch(text)}</p>
        : <EmptyState icon="bookmark" title={strings.queries.none}><p>{strings.queries.noneHelp}</p></EmptyState>)}
      {unreadableQueries.value.map((query) => (
        <Problem key={query.id}>
          <span>{strings.queries.unreadable(query.id, query.reason, query.owner_user_name === userName.value ? null : query.owner_user_name)}</span>
          <IconButton icon="delete" label={strings.queries.deleteUnreadable(query.id)} onClick={() => void deleteUnreadable(query)} />
        </Problem>
      ))}
      <div class="query-groups">
        {own.length > 0 && <Group title={strings.queries.own} queries={own} isOwn />}
        {owners.map((owner) => <Group key={owner} title={strings.queries.sharedBy(owner)} queries={savedQueries.value.filter((query) => query.owner_user_name === owner)} />)}
      </div>
    </nav>
  );
}

function Group({ title, queries, isOwn = false }: { title: string; queries: SavedQuery[]; isOwn?: boolean }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <Level folder={folderTree(queries)} isOwn={isOwn} />
    </section>
  );
}

function Level({ folder, isOwn }: { folder: QueryFolder; isOwn: boolean }) {
  return (
    <ul>
      {folder.folders.map((each) => <Folder key={each.path} folder={each} isOwn={isOwn} />)}
      {folder.queries.map((query) => <Item key={query.id} query={query} />)}
    </ul>
  );
}

function Folder({ folder, isOwn }: { folder: QueryFolder; isOwn: boolean }) {
  const [open, setOpen] = useState(true);
  return (
    <li>
      <div class="query-line">
        <button type="button" class="level" aria-expanded={open} title={folder.path} onClick={() => setOpen(!open)}>
          <Icon name={open ? "folderOpen" : "folder"} size={15} /><span>{folder.name}</span>
        </button>
        {isOwn && (
          <Menu
            label={strings.queries.commands(folder.path)}
            icon="more"
            commands={[
              { label: strings.queries.moveFolder, icon: "folder", run: () => void moveFolder(folder.path) },
              null,
              { label: strings.queries.deleteFolder, icon: "delete", isDangerous: true, run: () => void deleteFolder(folder.path, queryCount(folder)) },
            ]}
          />
        )}
      </div>
      {open && <Level folder={folder} isOwn={isOwn} />}
    </li>
  );
}

function queryCount(folder: QueryFolder): number {
  return folder.folders.reduce((sum, each) => sum + queryCount(each), folder.queries.length);
}

function Item({ query }: { query: SavedQuery }) {
  const tab = activeTab();
  const isCurrent = tab?.kind === "sql" && tab.queryId.value === query.id;
  return (
    <li>
      <div class={isCurrent ? "query-line current" : "query-line"}>
        <button type="button" aria-current={isCurrent ? "true" : undefined} title={query.description || query.display_name} onClick={() => void openQuery(query.id)}>
          <Icon name="query" size={15} /><span>{query.display_name}</span>
          {isCurrent && hasChanges(tab) && <span class="unsaved" title={strings.queries.unsaved}>•</span>}
          {query.is_shared && <Icon name="users" size={13} />}
        </button>
        <Menu label={strings.queries.commands(query.display_name)} icon="more" commands={commandsOf(query)} />
      </div>
    </li>
  );
}

function commandsOf(query: SavedQuery): (Command | null)[] {
  const isOwner = query.permission === "OWNER";
  const forOwner: (Command | null)[] = [
    { label: strings.queries.move, icon: "folder", run: () => void moveQuery(query) },
    { label: strings.queries.share, icon: "share", run: () => void (queryDialog.value = { kind: "share", query }) },
    null,
    { label: strings.queries.delete, icon: "delete", isDangerous: true, run: () => void deleteQuery(query) },
  ];
  return [
    { label: strings.queries.open, icon: "open", run: () => void openQuery(query.id) },
    { label: strings.queries.copyLink, icon: "link", run: () => void copyLink("query", query.id) },
    { label: strings.queries.duplicate, icon: "copy", run: () => void duplicateQuery(query) },
    ...(query.permission === "CAN_VIEW" ? [] : [{ label: strings.queries.rename, icon: "edit" as const, run: () => void renameQuery(query) }]),
    ...(isOwner ? forOwner : []),
  ];
}
