// The frame of the page: navigation at the left, the catalog beside it, tabs with their contents in the rest.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Activity } from "./activity";
import { Grants } from "./admin/grants";
import { Policies } from "./admin/policies";
import { Tokens } from "./admin/tokens";
import { Users } from "./admin/users";
import { Browser } from "./browser";
import { catalogVersion } from "./catalog_changes";
import { loadNames } from "./names";
import { PanelEdge } from "./panel_edge";
import { isBusy } from "./runner";
import { QueryDialogs } from "./query_dialogs";
import { SavedQueries } from "./query_list";
import { hasChanges, loadQueries, renameQuery } from "./saved_queries";
import { close, onShortcut, ShortcutsDialog } from "./shortcuts";
import { SqlView } from "./sql_view";
import { activeId, activeTab, closedTabs, hasLogins, isPanelOpen, moveTab, openPageTab, openSqlTab, PAGES, panelPart, panelWidth, renameTab, reopenTab, tabs, theme, type Page, type Tab } from "./state";
import { strings } from "./strings";
import { TableView } from "./table_view";
import { IconButton } from "./ui/button";
import { asked, Questions } from "./ui/dialog";
import { Icon, type IconName } from "./ui/icon";
import { Menu } from "./ui/menu";
import { EmptyState, Notices } from "./ui/notice";
import { Tabs } from "./ui/tabs";

const THEMES = ["system", "light", "dark"] as const;
const THEME_ICONS: Record<(typeof THEMES)[number], IconName> = { system: "system", light: "sun", dark: "moon" };

export function Shell({ user }: { user: string }) {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    loadNames().catch(() => undefined); // the editor works without
  }, [catalogVersion.value]);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "F1") {
        event.preventDefault();
        setHelp((shown) => !shown);
      } else onShortcut(event);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class={isPanelOpen.value ? "console" : "console panel-closed"} style={{ "--panel-width": `${panelWidth.value}px` }}>
      <a class="skip" href="#main" onClick={skip}>{strings.shell.skip}</a>
      <Rail user={user} onHelp={() => setHelp(true)} />
      <aside class="panel" aria-label={strings.shell.catalog} hidden={!isPanelOpen.value}>
        <header class="panel-head">
          <Tabs
            label={strings.shell.panel}
            value={panelPart.value}
            views={[{ value: "catalog", label: strings.shell.catalog }, { value: "queries", label: strings.queries.title }]}
            onChange={(part) => (panelPart.value = part)}
          />
          <span class="spacer" />
          <IconButton icon="refresh" label={strings.common.refresh} onClick={() => (panelPart.value === "queries" ? void loadQueries() : catalogVersion.value++)} />
          <IconButton icon="left" label={strings.shell.closeCatalog} onClick={() => (isPanelOpen.value = false)} />
        </header>
        <div class="panel-part" hidden={panelPart.value !== "catalog"}><Browser /></div>
        {panelPart.value === "queries" && <SavedQueries />}
        <PanelEdge />
      </aside>
      <main id="main" tabIndex={-1}>
        <TabBar />
        <Content tab={activeTab()} />
      </main>
      {help && <ShortcutsDialog onClose={() => setHelp(false)} />}
      <QueryDialogs />
      <Questions />
      <Notices />
    </div>
  );
}

/** Moves the focus to the content; the fragment of the URL belongs to the tabs. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Rail({ user, onHelp }: { user: string; onHelp: () => void }) {
  const active = activeTab();
  const lastQuery = () => tabs.value.findLast((tab) => tab.kind === "sql");
  const showEditor = () => {
    const tab = lastQuery();
    if (tab) activeId.value = tab.id;
    else openSqlTab();
  };
  return (
    <nav class="rail" aria-label={strings.shell.menu}>
      <h1 class="logo" title={strings.shell.product}><span class="hidden">{strings.shell.product}</span><Icon name="zap" size={20} /></h1>
      <IconButton icon="database" label={strings.shell.showCatalog} aria-expanded={isPanelOpen.value} onClick={() => (isPanelOpen.value = !isPanelOpen.value)} />
      <RailButton icon="query" label={strings.shell.sqlEditor} isCurrent={active?.kind === "sql"} onClick={showEditor} />
      <RailPage icon="activity" page="activity" label={PAGES.activity} />
      <span class="rail-line" />
      <RailPage icon="grants" page="grants" label={PAGES.grants} />
      <RailPage icon="policy" page="policies" label={PAGES.policies} />
      <RailPage icon="users" page="users" label={PAGES.users} />
      <RailPage icon="token" page="tokens" label={PAGES.tokens} />
      <span class="spacer" />
      <a class="button quiet icon-only wide-only" href="connect" title={strings.shell.connect} aria-label={strings.shell.connect}><Icon name="connect" /></a>
      <Menu
        label={strings.shell.theme}
        icon={THEME_ICONS[theme.value]}
        commands={THEMES.map((each) => ({ label: strings.shell.themes[each], icon: THEME_ICONS[each], isChosen: theme.value === each, run: () => (theme.value = each) }))}
      />
      <IconButton icon="keyboard" class="wide-only" label={`${strings.shell.keys} (F1)`} onClick={onHelp} />
      <Menu
        label={strings.shell.user(user)}
        icon="user"
        class="user"
        commands={[
          { label: user, isDisabled: true, run: () => undefined },
          null,
          { label: strings.shell.connect, icon: "connect", run: () => location.assign("connect") },
          ...(hasLogins ? [{ label: strings.shell.logOut, icon: "logOut" as const, run: () => location.assign("login") }] : []),
        ]}
      />
    </nav>
  );
}

function RailButton({ icon, label, isCurrent, onClick }: { icon: IconName; label: string; isCurrent: boolean; onClick: () => void }) {
  return <IconButton icon={icon} label={label} class={isCurrent ? "current" : ""} aria-current={isCurrent ? "page" : undefined} onClick={onClick} />;
}

function RailPage({ icon, page, label }: { icon: IconName; page: Page; label: string }) {
  return <RailButton icon={icon} label={label} isCurrent={activeId.value === page} onClick={() => openPageTab(page)} />;
}

function TabBar() {
  return (
    <header class="tab-bar">
      <div class="tabs" role="tablist" aria-label={strings.shell.tabs}>
        {tabs.value.map((tab) => <TabButton key={tab.id} tab={tab} />)}
      </div>
      <IconButton icon="plus" label={strings.shell.newTab} onClick={() => openSqlTab()} />
      <Menu
        label={strings.shell.tabMenu}
        icon="down"
        commands={[
          ...tabs.value.map((tab) => ({ label: tab.title, icon: iconOf(tab), isChosen: tab.id === activeId.value, run: () => void (activeId.value = tab.id) })),
          null,
          { label: strings.shell.moveTabLeft, icon: "left", keys: "Alt-Shift-←", isDisabled: tabs.value[0]?.id === activeId.value, run: () => moveTab(activeId.value, -1) },
          { label: strings.shell.moveTabRight, icon: "right", keys: "Alt-Shift-→", isDisabled: tabs.value.at(-1)?.id === activeId.value, run: () => moveTab(activeId.value, 1) },
          { label: strings.editor.renameTab, icon: "edit", isDisabled: activeTab()?.kind !== "sql", run: () => void renameActiveTab() },
          { label: strings.shell.reopenTab, icon: "reopen", keys: "Alt-T", isDisabled: !closedTabs.value.length, run: reopenTab },
        ]}
      />
    </header>
  );
}

function iconOf(tab: Tab): IconName {
  switch (tab.kind) {
    case "sql":
      return "query";
    case "table":
      return "table";
    case "page":
      return tab.page;
    case "missing":
      return "lock";
  }
}

/** The id of the tab that is dragged. */
let dragged = "";

function TabButton({ tab }: { tab: Tab }) {
  const [isTarget, setTarget] = useState(false);
  const isActive = activeId.value === tab.id;
  const own = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isActive) own.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [isActive]);
  return (
    <div
      ref={own}
      role="presentation"
      class={`tab${isActive ? " chosen" : ""}${isTarget ? " target" : ""}`}
      title={tab.title}
      draggable
      onDragStart={(event) => {
        dragged = tab.id;
        event.dataTransfer?.setData("text/plain", tab.title);
      }}
      onDragEnd={() => (dragged = "")}
      onDragOver={(event) => {
        if (!dragged) return; // text or a file from elsewhere
        event.preventDefault();
        setTarget(dragged !== tab.id);
      }}
      onDragLeave={() => setTarget(false)}
      onDrop={(event) => {
        if (!dragged) return;
        event.preventDefault();
        setTarget(false);
        const place = (id: string) => tabs.value.findIndex((each) => each.id === id);
        moveTab(dragged, place(tab.id) - place(dragged));
      }}
      onAuxClick={(event) => event.button === 1 && close(tab)}
    >
      <button type="button" role="tab" aria-selected={isActive} tabIndex={isActive ? 0 : -1} aria-keyshortcuts="Delete Alt+W" onClick={() => (activeId.value = tab.id)} onDblClick={() => tab.kind === "sql" && void renameActiveTab()}>
        {tab.kind === "sql" && isBusy(tab) ? <span class="dot" /> : <Icon name={iconOf(tab)} size={14} />}
        <span class="tab-title">{tab.title}</span>
        {tab.kind === "sql" && hasChanges(tab) && <span class="unsaved" title={strings.queries.unsaved}>•<span class="hidden">{strings.queries.unsaved}</span></span>}
      </button>
      <span class="close" title={strings.common.closeTab(tab.title)} aria-hidden="true" onClick={() => close(tab)}><Icon name="close" size={13} /></span>
    </div>
  );
}

async function renameActiveTab(): Promise<void> {
  const tab = activeTab();
  if (tab?.kind !== "sql") return;
  const saved = tab.saved.value;
  if (saved && saved.permission !== "CAN_VIEW") return renameQuery(saved);
  const title = await asked(strings.editor.renameTab, strings.queries.name, strings.queries.rename, tab.title);
  if (title?.trim()) renameTab(tab.id, title.trim());
}

function Content({ tab }: { tab: Tab | undefined }) {
  switch (tab?.kind) {
    case undefined:
      return null;
    case "sql":
      return <SqlView key={tab.id} tab={tab} />;
    case "table":
      return <TableView key={tab.id} tab={tab} />;
    case "page":
      return <PageView page={tab.page} />;
    case "missing":
      return <EmptyState icon="lock" title={tab.title}><p>{tab.text}</p></EmptyState>;
  }
}

function PageView({ page }: { page: Page }) {
  switch (page) {
    case "activity":
      return <Activity />;
    case "grants":
      return <Grants />;
    case "policies":
      return <Policies />;
    case "users":
      return <Users />;
    case "tokens":
      return <Tokens />;
  }
}
