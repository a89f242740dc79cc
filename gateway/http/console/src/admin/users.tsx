// Users and groups that the catalog knows. Groups are changed by statements; users are added where they log in.
import { useState } from "preact/hooks";
import { catalogVersion } from "../catalog_changes";
import { isAdministrator } from "../state";
import { strings } from "../strings";
import { Button } from "../ui/button";
import { DataTable, type Column } from "../ui/data_table";
import { EmptyState, Problem } from "../ui/notice";
import { Field, Page } from "../ui/page";
import { Menu } from "../ui/menu";
import { Select } from "../ui/select";
import { Tabs } from "../ui/tabs";
import { useLoad } from "../use_load";
import { showGrantsOf } from "./grants_choice";
import { rowsOf } from "./run_sql";
import { StatementDialog } from "./statement_dialog";
import { ticked, type PrincipalKind } from "./statements";

const texts = strings.users;
const USERS_WITH_GROUPS_MAX = 100;
type Part = "users" | "groups";
const PARTS: Part[] = ["users", "groups"];

interface User {
  name: string;
  /** Undefined for users beyond the first ones. */
  groups?: string[];
}

interface Principals {
  users: User[];
  groups: string[];
}

interface Asked {
  what: "create" | "drop" | "add" | "remove";
  group: string;
  member?: string;
}

export function Users() {
  const [part, setPart] = useState<Part>("users");
  const [asked, setAsked] = useState<Asked>();
  const { value, problem } = useLoad(loadPrincipals, [catalogVersion.value]);
  const counts = { users: value?.users.length, groups: value?.groups.length };
  return (
    <Page
      icon="users"
      title={texts.title}
      intro={isAdministrator() ? texts.intro : texts.introOfUser}
      actions={isAdministrator() && <Button variant="primary" icon="plus" onClick={() => setAsked({ what: "create", group: "" })}>{texts.createGroup}</Button>}
    >
      <Tabs label={texts.title} value={part} views={PARTS.map((each) => ({ value: each, label: texts.part[each], badge: counts[each] }))} onChange={setPart} />
      {problem && <Problem>{problem}</Problem>}
      {value && part === "users" && <UserList users={value.users} onAsk={setAsked} />}
      {value && part === "groups" && <GroupList groups={value.groups} onAsk={setAsked} />}
      {part === "users" && <p class="note">{texts.howToAdd} <code class="code">delta-gateway users add NAME --groups GROUP --password-file FILE</code></p>}
      {asked && <GroupDialog asked={asked} known={value ?? { users: [], groups: [] }} onClose={() => setAsked(undefined)} />}
    </Page>
  );
}

function UserList({ users, onAsk }: { users: User[]; onAsk: (asked: Asked) => void }) {
  if (!users.length) return <EmptyState icon="user" title={texts.noUsers}><p>{texts.noUsersHint}</p></EmptyState>;
  const columns: Column<User>[] = [
    { head: texts.user, class: "wide", cell: ({ name }) => <b>{name}</b> },
    { head: texts.groups, class: "wide", cell: (user) => <Groups user={user} onAsk={onAsk} /> },
    { head: "", cell: ({ name }) => <Button icon="grants" onClick={() => showGrantsOf(name)}>{texts.showGrants}</Button> },
  ];
  return <DataTable label={texts.part.users} columns={columns} rows={users} keyOf={({ name }) => name} />;
}

function Groups({ user: { name, groups }, onAsk }: { user: User; onAsk: (asked: Asked) => void }) {
  if (!groups?.length) return <span class="note">{groups ? texts.noGroups : texts.notLoaded}</span>;
  return (
    <>
      {groups.map((group) => isAdministrator()
        ? <button key={group} type="button" class="mark with-action" title={texts.removeFrom(name, group)} onClick={() => onAsk({ what: "remove", group, member: name })}>{group} ×</button>
        : <span key={group} class="mark">{group}</span>)}
    </>
  );
}

function GroupList({ groups, onAsk }: { groups: string[]; onAsk: (asked: Asked) => void }) {
  if (!groups.length) return <EmptyState icon="users" title={texts.noGroupsAtAll}><p>{isAdministrator() ? texts.noGroupsHint : texts.noGroupsHintOfUser}</p></EmptyState>;
  const columns: Column<string>[] = [
    { head: texts.group, class: "wide", cell: (name) => <b>{name}</b> },
    {
      head: "",
      cell: (group) => (
        <span class="row-actions">
          <Button icon="grants" onClick={() => showGrantsOf(group)}>{texts.showGrants}</Button>
          {isAdministrator() && (
            <Menu
              label={texts.groupMenu(group)}
              icon="more"
              commands={[
                { label: texts.addMember, icon: "plus", run: () => onAsk({ what: "add", group }) },
                { label: texts.removeMember, icon: "close", run: () => onAsk({ what: "remove", group }) },
                null,
                { label: texts.dropGroup, icon: "delete", isDangerous: true, run: () => onAsk({ what: "drop", group }) },
              ]}
            />
          )}
        </span>
      ),
    },
  ];
  return <DataTable label={texts.part.groups} columns={columns} rows={groups} keyOf={(name) => name} />;
}

function GroupDialog({ asked, known, onClose }: { asked: Asked; known: Principals; onClose: () => void }) {
  const [group, setGroup] = useState(asked.group);
  const [member, setMember] = useState(asked.member ?? "");
  const [kind, setKind] = useState<PrincipalKind>("USER");
  const hasMember = asked.what === "add" || asked.what === "remove";
  const names = kind === "USER" ? known.users.map(({ name }) => name) : known.groups;
  return (
    <StatementDialog
      title={texts.dialogs[asked.what].title}
      statement={groupText(asked.what, group.trim(), kind, member.trim())}
      action={texts.dialogs[asked.what].action}
      done={texts.dialogs[asked.what].done}
      isDangerous={asked.what === "drop"}
      onClose={onClose}
      onDone={() => undefined}
    >
      {asked.what === "create" && (
        <Field label={texts.group}><input autofocus value={group} onInput={(event) => setGroup(event.currentTarget.value)} /></Field>
      )}
      {hasMember && (
        <>
          <div class="field">
            <span>{strings.admin.principalKind}</span>
            <Select label={strings.admin.principalKind} value={kind} options={strings.admin.principalKinds} onChange={setKind} />
          </div>
          <Field label={texts.member}>
            <input autofocus list="members" value={member} onInput={(event) => setMember(event.currentTarget.value)} />
          </Field>
          <datalist id="members">{names.map((name) => <option key={name} value={name} />)}</datalist>
        </>
      )}
    </StatementDialog>
  );
}

function groupText(what: Asked["what"], group: string, kind: PrincipalKind, member: string): string | undefined {
  if (!group) return undefined;
  if (what === "create") return `CREATE GROUP ${ticked(group)}`;
  if (what === "drop") return `DROP GROUP ${ticked(group)}`;
  return member ? `ALTER GROUP ${ticked(group)} ${what === "add" ? "ADD" : "DROP"} ${kind} ${ticked(member)}` : undefined;
}

async function loadPrincipals(): Promise<Principals> {
  const names = async (text: string) => (await rowsOf(text)).flatMap((row) => row.name ?? []);
  const [users, groups] = await Promise.all([names("SHOW USERS"), names("SHOW GROUPS")]);
  const found: User[] = [];
  for (const [at, name] of users.entries()) {
    found.push({ name, groups: at < USERS_WITH_GROUPS_MAX ? await names(`SHOW GROUPS WITH USER ${ticked(name)}`) : undefined });
  }
  return { users: found, groups };
}
