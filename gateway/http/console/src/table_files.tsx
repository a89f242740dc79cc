// The files of a table: a picture of their sizes, and a list.
import { useState } from "preact/hooks";
import { api, type FileRow, type TableName } from "./api";
import { formatBytes, formatCount } from "./format";
import { counted } from "./operation_metrics";
import { strings } from "./strings";
import { squarify } from "./treemap";
import { Button } from "./ui/button";
import { useShown } from "./ui/more";
import { EmptyState, Problem } from "./ui/notice";
import { useLoad } from "./use_load";

const MAP = { width: 1000, height: 360 };

export function Files({ name }: { name: TableName }) {
  const { value: files, problem } = useLoad(() => api.files(name), [name]);
  const [chosen, setChosen] = useState<FileRow>();
  const { items, more } = useShown(files ?? [], 100);
  if (problem) return <Problem>{problem}</Problem>;
  if (!files) return <p class="note" role="status">{strings.common.loading}</p>;
  if (!files.length) return <EmptyState icon="file" title={strings.table.noFiles}><p>{strings.table.noFilesText}</p></EmptyState>;
  const seen = files.filter((file) => file.size > 0);
  const boxes = squarify(seen.map((file) => file.size), MAP.width, MAP.height);
  const largest = seen[0]?.size ?? 1;
  return (
    <div class="files">
      <p class="note">
        {counted(files.length, "file")}{files.length >= 1000 ? " (the largest)" : ""}, {formatBytes(files.reduce((sum, file) => sum + file.size, 0))}. An area is a file's size.
      </p>
      <svg viewBox={`0 0 ${MAP.width} ${MAP.height}`} preserveAspectRatio="none" role="img" aria-label={`${files.length} files by size`}>
        {boxes.map((box, at) => {
          const file = seen[at] as FileRow;
          return (
            <rect
              key={file.path}
              {...box}
              class={chosen === file ? "file chosen" : "file"}
              fill-opacity={0.35 + 0.65 * (file.size / largest)}
              onMouseEnter={() => setChosen(file)}
            >
              <title>{`${file.path}\n${formatBytes(file.size)}`}</title>
            </rect>
          );
        })}
      </svg>
      <table class="list narrow">
        <thead><tr><th>File</th><th class="numeric">Size</th><th class="numeric">Rows</th><th class="numeric">Deleted rows</th><th>Partition</th></tr></thead>
        <tbody>
          {(chosen ? [chosen] : items).map((file) => (
            <tr key={file.path}>
              <td class="code wide">{file.path}</td>
              <td class="numeric" data-head="Size">{formatBytes(file.size)}</td>
              <td class="numeric" data-head="Rows">{file.rows === null ? "" : formatCount(file.rows)}</td>
              <td class="numeric" data-head="Deleted rows">{file.deleted_rows || ""}</td>
              <td class="code" data-head="Partition">{Object.entries(file.partition).map(([key, value]) => `${key}=${value ?? "NULL"}`).join(" ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {chosen ? <Button onClick={() => setChosen(undefined)}>{strings.table.allFiles}</Button> : more}
    </div>
  );
}
