// Privileges: who has which on an object, and what a user or group has. GRANT and REVOKE are shown before they run.
import { useState } from "preact/hooks";
import { catalogVersion } from "../catalog_changes";
import { hasLogins, me } from "../state";
import { strings } from "../strings";
import { Button } from "../ui/button";
import { DataTable, type Column } from "../ui/data_table";
import { EmptyState, Problem } from "../ui/notice";
import { Banner, Field, Page } from "../ui/page";
import { Select } from "../ui/select";
import { Tabs } from "../ui/tabs";
import { useLoad } from "../use_load";
import { grantsObject, grantsPart, grantsPrincipal, showGrantsOf, type GrantsPart } from "./grants_choice";
import { ObjectChoice } from "./object_choice";
import { rowsOf, type Row } from "./run_sql";
import { StatementDialog } from "./statement_dialog";
import {
  grantText, isKind, PARTS, PRIVILEGES, revokeText, securableOf, securableText, ticked, type Kind, type PrincipalKind, type Securable,
} from "./statements";

const texts = strings.grants;
const CHOICES: Kind[] = ["CATALOG", "SCHEMA", "TABLE", "VIEW", "FUNCTION", "VOLUME", "EXTERNAL LOCATION", "SERVER"];
const VIEWS: GrantsPart[] = ["object", "principal"];

interface Grant {
  principal: string;
  privilege: string;
  type: string;
  key: string;
  /** Undefined if the name in the row is ambiguous. */
  on: Securable | undefined;
}

export function Grants() {
  const part = grantsPart.value;
  return (
    <Page icon="grants" title={texts.title} intro={texts.intro}>
      {!hasLogins && <Banner>{texts.noLogins}</Banner>}
      <Tabs label={texts.title} value={part} views={VIEWS.map((value) => ({ value, label: texts.part[value] }))} onChange={(value) => (grantsPart.value = value)} />
      {part === "object" ? <OnObject /> : <OfPrincipal />}
    </Page>
  );
}

function OnObject() {
  const on = grantsObject.value;
  const [isGranting, setGranting] = useState(false);
  const isChosen = on.parts.length === PARTS[on.kind];
  return (
    <>
      <div class="choices">
        <ObjectChoice kinds={CHOICES} value={on} onChange={(value) => (grantsObject.value = value)} />
        <Button variant="primary" icon="plus" disabled={!isChosen} onClick={() => setGranting(true)}>{texts.grant}</Button>
      </div>
      {isChosen
        ? <GrantList key={securableText(on)} query={`SHOW GRANTS ON ${securableText(on)}`} chosen={on} />
        : <EmptyState icon="grants" title={texts.nothingChosen}><p>{texts.nothingChosenHint}</p></EmptyState>}
      {isGranting && <GrantDialog on={on} onClose={() => setGranting(false)} />}
    </>
  );
}

function OfPrincipal() {
  const [name, setName] = useState(grantsPrincipal.value);
  const { value: known } = useLoad(knownPrincipals, [catalogVersion.value]);
  const chosen = grantsPrincipal.value;
  return (
    <>
      <form class="choices" onSubmit={(event) => (event.preventDefault(), (grantsPrincipal.value = name.trim()))}>
        <input
          list="principals"
          class="principal"
          aria-label={texts.principal}
          placeholder={texts.principalHint}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onChange={(event) => (grantsPrincipal.value = event.currentTarget.value.trim())}
        />
        <datalist id="principals">{(known ?? []).map((each) => <option key={each} value={each} />)}</datalist>
        <Button type="submit">{texts.show}</Button>
        {me.value && chosen !== me.value.userName && (
          <Button variant="quiet" onClick={() => (setName(me.value?.userName ?? ""), (grantsPrincipal.value = me.value?.userName ?? ""))}>{texts.mine}</Button>
        )}
      </form>
      {chosen
        ? <GrantList key={chosen} query={`SHOW GRANTS ${ticked(chosen)}`} />
        : <EmptyState icon="user" title={texts.noPrincipal}><p>{texts.noPrincipalHint}</p></EmptyState>}
    </>
  );
}

function GrantList({ query, chosen }: { query: string; chosen?: Securable }) {
  const { value: rows, problem } = useLoad(() => rowsOf(query), [query, catalogVersion.value]);
  const [revoked, setRevoked] = useState<Grant>();
  if (problem) return <Problem>{problem}</Problem>;
  const grants = (rows ?? []).map((row) => grantOf(row, chosen));
  const columns: Column<Grant>[] = [
    ...(chosen
      ? [{ head: texts.principal, class: "wide", cell: ({ principal }: Grant) => <button type="button" class="text" onClick={() => showGrantsOf(principal)}>{principal}</button> }]
      : []),
    { head: texts.privilege, cell: ({ privilege }) => <span class="mark">{privilege}</span> },
    { head: texts.on, class: "wide", cell: (grant) => <ObjectName grant={grant} isInherited={isInherited(grant.on, chosen)} /> },
    {
      head: "",
      cell: (grant) => grant.on
        ? <Button variant="danger" aria-label={texts.revokeNamed(grant.privilege, grant.principal)} onClick={() => setRevoked(grant)}>{texts.revoke}</Button>
        : <span class="note">{texts.ambiguous}</span>,
    },
  ];
  return (
    <>
      {rows && !grants.length && <EmptyState icon="grants" title={texts.empty}><p>{chosen ? texts.emptyHint : texts.emptyPrincipalHint}</p></EmptyState>}
      {grants.length > 0 && <DataTable label={texts.title} columns={columns} rows={grants} keyOf={(grant) => JSON.stringify([grant.principal, grant.privilege, grant.type, grant.key])} />}
      {revoked?.on && (
        <StatementDialog
          title={texts.revokeTitle}
          statement={revokeText(revoked.privilege, revoked.on, revoked.principal)}
          action={texts.revoke}
          done={texts.revoked}
          isDangerous
          onClose={() => setRevoked(undefined)}
          onDone={() => undefined}
        />
      )}
    </>
  );
}

function ObjectName({ grant: { type, key }, isInherited }: { grant: Grant; isInherited: boolean }) {
  return (
    <span>
      {isKind(type) ? strings.admin.kinds[type] : type} <span class="code">{key}</span>
      {isInherited && <span class="note"> · {texts.inherited}</span>}
    </span>
  );
}

function GrantDialog({ on, onClose }: { on: Securable; onClose: () => void }) {
  const [privileges, setPrivileges] = useState<string[]>([]);
  const [kind, setKind] = useState<PrincipalKind>("GROUP");
  const [principal, setPrincipal] = useState("");
  const { value: known } = useLoad(knownPrincipals, []);
  const toggle = (privilege: string, isChosen: boolean) =>
    setPrivileges(PRIVILEGES[on.kind].filter((each) => (each === privilege ? isChosen : privileges.includes(each))));
  const name = principal.trim();
  return (
    <StatementDialog
      title={texts.grantTitle}
      statement={privileges.length && name ? grantText(privileges, on, kind, name) : undefined}
      action={texts.grant}
      done={texts.granted}
      onClose={onClose}
      onDone={() => undefined}
    >
      <div class="field">
        <span>{strings.admin.principalKind}</span>
        <Select label={strings.admin.principalKind} value={kind} options={strings.admin.principalKinds} onChange={setKind} />
      </div>
      <Field label={texts.name}>
        <input autofocus list="grantees" value={principal} onInput={(event) => setPrincipal(event.currentTarget.value)} />
      </Field>
      <datalist id="grantees">{["account users", ...(known ?? [])].map((each) => <option key={each} value={each} />)}</datalist>
      <fieldset class="checks">
        <legend>{texts.privileges}</legend>
        {PRIVILEGES[on.kind].map((privilege) => (
          <label key={privilege}><input type="checkbox" checked={privileges.includes(privilege)} onChange={(event) => toggle(privilege, event.currentTarget.checked)} />{privilege}</label>
        ))}
      </fieldset>
    </StatementDialog>
  );
}

function grantOf(row: Row, chosen: Securable | undefined): Grant {
  const [type, key] = [row.ObjectType ?? "", row.ObjectKey ?? ""];
  return { principal: row.Principal ?? "", privilege: row.ActionType ?? "", type, key, on: securableOf(type, key, chosen) };
}

function isInherited(on: Securable | undefined, chosen: Securable | undefined): boolean {
  return on !== undefined && chosen !== undefined && on.kind !== chosen.kind;
}

async function knownPrincipals(): Promise<string[]> {
  const found = await Promise.all(["SHOW USERS", "SHOW GROUPS"].map(rowsOf));
  return [...new Set(found.flat().flatMap((row) => row.name ?? []))];
}
