// Every text that the page shows, by the part that shows it. Texts with values are functions.

export const strings = {
  common: {
    cancel: "Cancel",
    close: "Close",
    closeTab: (title: string) => `Close ${title}`,
    delete: "Delete",
    refresh: "Refresh",
    save: "Save",
    serverDoesNotAnswer: "The server does not answer. Reload the page to try again.",
  },
  shell: {
    activity: "Activity",
    catalog: "Catalog",
    closeCatalog: "Close the catalog",
    connect: "Connect other programs",
    keys: "Keyboard shortcuts",
    logOut: "Log out",
    menu: "Main menu",
    newTab: "New query (Alt-N)",
    product: "delta-gateway",
    reopenTab: "Reopen closed tab",
    showCatalog: "Show or hide the catalog (Alt-B)",
    sqlEditor: "SQL editor",
    tabs: "Tabs",
    tabMenu: "More tabs and commands",
    theme: "Theme",
    themes: { system: "As the system", light: "Light", dark: "Dark" },
    user: (name: string) => `User ${name}`,
  },
  browser: {
    filter: "Filter tables (Ctrl-K)",
    filterLabel: "Filter tables",
    hint: "A click shows the table; Shift-Enter puts its name into the editor.",
  },
  editor: {
    run: "Run",
    cancel: "Cancel",
    firstRows: "Rows at most",
  },
  table: {
    parts: "Table",
    part: { columns: "Columns", properties: "Properties", history: "History", files: "Files" },
  },
  activity: {
    parts: "Activity",
    part: { statements: "Statements", sessions: "Sessions" },
  },
};
