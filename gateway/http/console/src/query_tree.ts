// Folders of saved queries: a tree from the paths of queries; pure.
import type { SavedQuery } from "./api";

export interface QueryFolder {
  path: string;
  name: string;
  folders: QueryFolder[];
  queries: SavedQuery[];
}

/** The root folder of one owner's queries; folders and queries are in the order of their names. */
export function folderTree(queries: SavedQuery[]): QueryFolder {
  const root: QueryFolder = { path: "/", name: "", folders: [], queries: [] };
  const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
  for (const query of [...queries].sort((a, b) => a.display_name.localeCompare(b.display_name))) {
    let folder = root;
    for (const name of query.parent_path.split("/").filter(Boolean)) {
      let next = folder.folders.find((each) => each.name === name);
      if (!next) {
        next = { path: `${folder.path === "/" ? "" : folder.path}/${name}`, name, folders: [], queries: [] };
        folder.folders = [...folder.folders, next].sort(byName);
      }
      folder = next;
    }
    folder.queries.push(query);
  }
  return root;
}

/** A folder's path as the server writes it, from what a user wrote. */
export function folderPath(written: string): string {
  return `/${written.split("/").map((name) => name.trim()).filter(Boolean).join("/")}`;
}

/** The paths of folders, with those above them. */
export function folderPaths(queries: SavedQuery[]): string[] {
  const paths = queries.flatMap(({ parent_path: path }) => path.split("/").map((_, at, names) => names.slice(0, at + 1).join("/") || "/"));
  return [...new Set(["/", ...paths])].sort();
}
