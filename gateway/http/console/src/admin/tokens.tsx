// Personal access tokens: those of the user, and of all users for an administrator.
import { useState } from "preact/hooks";
import { api, type TokenRow } from "../api";
import { copyWithNotice } from "../clipboard";
import { formatTime } from "../format";
import { failureOf } from "../runner";
import { isAdministrator, me } from "../state";
import { strings } from "../strings";
import { Button, IconButton } from "../ui/button";
import { DataTable, type Column } from "../ui/data_table";
import { confirmed, Dialog } from "../ui/dialog";
import { EmptyState, notify, Problem } from "../ui/notice";
import { Field, Page } from "../ui/page";
import { Select } from "../ui/select";
import { useLoad } from "../use_load";

const texts = strings.tokens;
const DAY_S = 86_400;
const DAYS = ["1", "7", "30", "90", "365"];
const SCOPES: readonly TokenRow["scope"][] = ["sql", "read-only"];

export function Tokens() {
  const [reload, setReload] = useState(0);
  const [isCreating, setCreating] = useState(false);
  const [problem, setProblem] = useState<string>();
  const again = () => setReload((count) => count + 1);
  const { value: tokens, problem: notListed } = useLoad(() => api.tokens(), [reload]);
  const revoke = async (row: TokenRow) => {
    if (!(await confirmed(texts.revokeTitle, texts.revokeText(row.comment || row.token_id), texts.revoke))) return;
    try {
      await api.revokeToken(row.token_id);
      setProblem(undefined);
      notify(texts.revoked);
    } catch (error) {
      setProblem(failureOf(error).message);
    }
    again();
  };
  const columns: Column<TokenRow>[] = [
    { head: texts.comment, class: "wide", cell: (row) => row.comment || <span class="note">{texts.noComment}</span> },
    ...(isAdministrator() ? [{ head: texts.owner, cell: (row: TokenRow) => row.created_by_username }] : []),
    { head: texts.scope, cell: (row) => texts.scopes[row.scope] },
    { head: texts.created, cell: (row) => formatTime(row.creation_time) },
    { head: texts.expires, cell: (row) => <Expiry row={row} /> },
    { head: "", cell: (row) => <Button variant="danger" aria-label={texts.revokeNamed(row.comment || row.token_id)} onClick={() => void revoke(row)}>{texts.revoke}</Button> },
  ];
  return (
    <Page
      icon="token"
      title={texts.title}
      intro={texts.intro}
      actions={tokens && <Button variant="primary" icon="plus" onClick={() => setCreating(true)}>{texts.create}</Button>}
    >
      {problem && <Problem>{problem}</Problem>}
      {notListed && <EmptyState icon="lock" title={texts.notAllowed}><p>{notListed}</p></EmptyState>}
      {tokens?.length === 0 && <EmptyState icon="token" title={texts.empty}><p>{texts.emptyHint}</p></EmptyState>}
      {tokens && tokens.length > 0 && <DataTable label={texts.title} columns={columns} rows={tokens} keyOf={(row) => row.token_id} />}
      {isCreating && <NewToken onClose={() => setCreating(false)} onCreated={again} />}
    </Page>
  );
}

function Expiry({ row }: { row: TokenRow }) {
  const isOver = row.expiry_time <= Date.now();
  return <>{formatTime(row.expiry_time)}{isOver && <span class="mark">{texts.expired}</span>}</>;
}

function NewToken({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const [comment, setComment] = useState("");
  const [days, setDays] = useState("90");
  const [scope, setScope] = useState<TokenRow["scope"]>("sql");
  const [value, setValue] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const create = async () => {
    try {
      setValue((await api.createToken(comment, Number(days) * DAY_S, scope)).token_value);
      onCreated();
    } catch (error) {
      setProblem(failureOf(error).message);
    }
  };
  if (value !== undefined) return <TokenValue value={value} onClose={onClose} />;
  return (
    <Dialog
      title={texts.create}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{strings.common.cancel}</Button>
          <Button variant="primary" onClick={() => void create()}>{texts.createAction}</Button>
        </>
      }
    >
      <form class="fields" onSubmit={(event) => (event.preventDefault(), void create())}>
        <Field label={texts.comment} hint={texts.commentHint}>
          <input autofocus maxLength={200} value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
        </Field>
        <div class="field">
          <span>{texts.lifetime}</span>
          <Select label={texts.lifetime} value={days} options={DAYS.map((each) => ({ value: each, label: texts.days(Number(each)) }))} onChange={setDays} />
        </div>
        <div class="field">
          <span>{texts.scope}</span>
          <Select label={texts.scope} value={scope} options={SCOPES.map((each) => ({ value: each, label: texts.scopes[each] }))} onChange={setScope} />
        </div>
        <button type="submit" hidden />
      </form>
      <p class="note">{texts.createNote(me.value?.userName ?? "")}</p>
      {problem && <Problem>{problem}</Problem>}
    </Dialog>
  );
}

/** The value of a token, which no other answer of the server contains. */
function TokenValue({ value, onClose }: { value: string; onClose: () => void }) {
  return (
    <Dialog title={texts.created_} onClose={onClose} actions={<Button variant="primary" onClick={onClose}>{texts.done}</Button>}>
      <p>{texts.once}</p>
      <div class="secret">
        <input class="code" readOnly aria-label={texts.value} value={value} onFocus={(event) => event.currentTarget.select()} />
        <IconButton icon="copy" variant="secondary" label={texts.copy} onClick={() => void copyWithNotice(value)} />
      </div>
    </Dialog>
  );
}
