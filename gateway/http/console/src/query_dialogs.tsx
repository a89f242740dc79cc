// Dialogs of saved queries: a new query, a conflict with another user's change, and who may see or change a query.
import { useEffect, useState } from "preact/hooks";
import { api, type AccessEntry, type SavedQuery } from "./api";
import { failureParts } from "./failure_parts";
import { failureOf } from "./runner";
import { loadQueries, ownFolders, queryDialog, reloadTab, saveAs, overwriteQuery } from "./saved_queries";
import type { SqlTab } from "./state";
import { strings } from "./strings";
import { Button, IconButton } from "./ui/button";
import { Dialog } from "./ui/dialog";
import { notify, Problem } from "./ui/notice";
import { Select } from "./ui/select";

export function QueryDialogs() {
  const dialog = queryDialog.value;
  switch (dialog?.kind) {
    case undefined:
      return null;
    case "save":
      return <SaveDialog tab={dialog.tab} />;
    case "share":
      return <ShareDialog query={dialog.query} />;
    case "conflict":
      return <ConflictDialog tab={dialog.tab} query={dialog.query} />;
  }
}

function done(): void {
  queryDialog.value = undefined;
}

function SaveDialog({ tab }: { tab: SqlTab }) {
  const saved = tab.saved.value;
  const [name, setName] = useState(saved ? strings.queries.copyOf(saved.display_name) : tab.title);
  const [folder, setFolder] = useState(saved?.permission === "OWNER" ? saved.parent_path : "/");
  const [description, setDescription] = useState(saved?.description ?? "");
  const [problem, setProblem] = useState("");
  const save = () => saveAs(tab, name.trim(), folder, description).then(done, (error: unknown) => setProblem(failureParts(failureOf(error)).text));
  return (
    <Dialog
      title={strings.queries.saveTitle}
      onClose={done}
      actions={
        <>
          <Button onClick={done}>{strings.common.cancel}</Button>
          <Button variant="primary" icon="save" type="submit" form="save-query" disabled={!name.trim()}>{strings.queries.save}</Button>
        </>
      }
    >
      <form id="save-query" onSubmit={(event) => (event.preventDefault(), void save())}>
        {saved?.permission === "CAN_VIEW" && <p class="note">{strings.queries.viewOnly(saved.owner_user_name)}</p>}
        <label class="field"><span>{strings.queries.name}</span><input autofocus required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        <label class="field"><span>{strings.queries.folderHelp}</span><input list="folders" value={folder} onInput={(event) => setFolder(event.currentTarget.value)} /></label>
        <datalist id="folders">{ownFolders().map((path) => <option key={path} value={path} />)}</datalist>
        <label class="field"><span>{strings.queries.description}</span><textarea rows={2} maxLength={4000} value={description} onInput={(event) => setDescription(event.currentTarget.value)} /></label>
        {problem && <Problem>{problem}</Problem>}
      </form>
    </Dialog>
  );
}

function ConflictDialog({ tab, query }: { tab: SqlTab; query: SavedQuery }) {
  const reload = () => reloadTab(tab).then(done, (error: unknown) => notify(failureParts(failureOf(error)).text));
  return (
    <Dialog
      title={strings.queries.conflict}
      onClose={done}
      actions={
        <>
          <Button onClick={() => void reload()}>{strings.queries.reload}</Button>
          <Button onClick={() => (queryDialog.value = { kind: "save", tab })}>{strings.queries.saveCopy}</Button>
          <Button variant="danger" onClick={() => (done(), void overwriteQuery(tab, query, undefined))}>{strings.queries.overwrite}</Button>
        </>
      }
    >
      <p>{strings.queries.conflictHelp(query.display_name)}</p>
    </Dialog>
  );
}

const LEVELS = (["CAN_VIEW", "CAN_EDIT"] as const).map((value) => ({ value, label: strings.queries.permissions[value] }));

function ShareDialog({ query }: { query: SavedQuery }) {
  const [entries, setEntries] = useState<AccessEntry[]>();
  const [kind, setKind] = useState<"user" | "group">("user");
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const fail = (error: unknown) => setProblem(failureParts(failureOf(error)).text);
  useEffect(() => void api.queryAccess(query.id).then(setEntries, fail), [query.id]);
  const added = name.trim()
    ? [...(entries ?? []).filter((entry) => nameOf(entry) !== name.trim()), { [`${kind}_name`]: name.trim(), permission_level: "CAN_VIEW" as const }]
    : (entries ?? []);
  const add = () => {
    setEntries(added);
    setName("");
  };
  const save = async () => {
    try {
      const shared = await api.shareQuery(query.id, added); // with a name that was written and not added
      const unknown = shared.access_control_list.filter((entry) => entry.is_known === false).map(nameOf);
      if (unknown.length) notify(strings.queries.unknownPrincipals(unknown.join(", ")));
      done();
      await loadQueries();
    } catch (error) {
      fail(error);
    }
  };
  return (
    <Dialog
      title={strings.queries.shareTitle(query.display_name)}
      onClose={done}
      class="share"
      actions={
        <>
          <Button onClick={done}>{strings.common.cancel}</Button>
          <Button variant="primary" disabled={!entries} onClick={() => void save()}>{strings.common.save}</Button>
        </>
      }
    >
      <p class="note">{strings.queries.shareHelp}</p>
      <form class="share-add" onSubmit={(event) => (event.preventDefault(), add())}>
        <Select label={strings.queries.kind} value={kind} options={[{ value: "user", label: strings.queries.kinds.user }, { value: "group", label: strings.queries.kinds.group }]} onChange={setKind} />
        <input autofocus aria-label={strings.queries.principal} placeholder={strings.queries.principal} value={name} list="principals" onInput={(event) => setName(event.currentTarget.value)} />
        {kind === "group" && <datalist id="principals"><option value={strings.queries.everybody} /></datalist>}
        <Button icon="plus" type="submit" disabled={!name.trim()}>{strings.queries.add}</Button>
      </form>
      {kind === "group" && <p class="note">{strings.queries.everybodyHelp}</p>}
      {problem && <Problem>{problem}</Problem>}
      {entries?.length === 0 && <p class="empty">{strings.queries.notShared}</p>}
      <ul class="share-list">
        {(entries ?? []).map((entry) => (
          <li key={nameOf(entry)}>
            <span class="share-name">{nameOf(entry)}{entry.is_known === false && <span class="note"> {strings.queries.neverSeen}</span>}</span>
            <Select
              label={strings.queries.permission(nameOf(entry))}
              value={entry.permission_level}
              options={LEVELS}
              onChange={(permission_level) => setEntries(entries?.map((each) => (each === entry ? { ...each, permission_level } : each)))}
            />
            <IconButton icon="close" label={strings.queries.remove(nameOf(entry))} onClick={() => setEntries(entries?.filter((each) => each !== entry))} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function nameOf(entry: AccessEntry): string {
  return entry.user_name ?? entry.group_name ?? "";
}
