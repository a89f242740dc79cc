// The versions of a table, and what changed between two of them.
import { useState } from "preact/hooks";
import { api, type FileRow, type TableName, type Version } from "./api";
import { fileChanges, tableChanges } from "./diff";
import { formatBytes, formatCount, formatTime } from "./format";
import { counted, metricTexts } from "./operation_metrics";
import { strings } from "./strings";
import { Button } from "./ui/button";
import { useShown } from "./ui/more";
import { Problem } from "./ui/notice";
import { Select } from "./ui/select";
import { useLoad } from "./use_load";

const FILES_MAX = 10_000;

export function History({ name }: { name: TableName }) {
  const { value: versions, problem } = useLoad(() => api.versions(name), [name]);
  const [pair, setPair] = useState<Pair>();
  const { items, more } = useShown(versions ?? []);
  if (problem) return <Problem>{problem}</Problem>;
  if (!versions) return <p class="note" role="status">{strings.common.loading}</p>;
  return (
    <div class="history">
      <table class="list narrow">
        <thead><tr><th>Version</th><th>Time</th><th>Operation</th><th>What</th><th>User</th><td /></tr></thead>
        <tbody>
          {items.map((row, at) => {
            const before = versions[at + 1];
            return (
              <tr key={row.version} class={pair?.[1] === row.version ? "chosen" : ""}>
                <td class="numeric" data-head="Version">{row.version}</td>
                <td data-head="Time">{formatTime(row.timestamp)}</td>
                <td data-head="Operation">{row.operation}</td>
                <td class="code" data-head="What">{metricTexts(row.operationMetrics).join(", ")}</td>
                <td data-head="User">{row.userName ?? ""}</td>
                <td>{before && <Button onClick={() => setPair([before.version, row.version])}>{strings.table.changes}</Button>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {more}
      {pair && <Changes name={name} pair={pair} versions={versions.map((row) => row.version)} onPair={setPair} />}
    </div>
  );
}

interface ChangesOf {
  name: TableName;
  pair: Pair;
  versions: Version[];
  onPair: (pair: Pair) => void;
}

type Pair = [Version, Version];

function Changes({ name, pair, versions, onPair }: ChangesOf) {
  const [from, to] = pair;
  const { value, problem } = useLoad(async () => {
    const [before, after, filesBefore, filesAfter] = await Promise.all([
      api.table(name, from),
      api.table(name, to),
      api.files(name, from, FILES_MAX),
      api.files(name, to, FILES_MAX),
    ]);
    const isCut = Math.max(filesBefore.length, filesAfter.length) >= FILES_MAX;
    return { table: tableChanges(before, after), files: fileChanges(filesBefore, filesAfter), isCut };
  }, [name, from, to]);
  const choose = (at: 0 | 1) => (
    <Select
      label={at ? strings.table.toVersion : strings.table.fromVersion}
      value={String(pair[at])}
      options={versions.map((version) => ({ value: String(version) }))}
      onChange={(next) => {
        const chosen = versions.find((version) => String(version) === next) ?? pair[at];
        onPair(at ? [from, chosen] : [chosen, to]);
      }}
    />
  );
  const size = (files: FileRow[]) => formatBytes(files.reduce((sum, file) => sum + file.size, 0));
  return (
    <aside class="changes">
      <p class="versions">From version {choose(0)} to {choose(1)}</p>
      {problem && <Problem>{problem}</Problem>}
      {value && (
        <>
          <p>
            <span class="added">+{counted(value.files.added.length, "file")}, {size(value.files.added)}</span>{" · "}
            <span class="removed">−{counted(value.files.removed.length, "file")}, {size(value.files.removed)}</span>
            {value.files.changed.length > 0 && ` · deleted rows in ${counted(value.files.changed.length, "file")}`}
          </p>
          {value.isCut && <p class="note">Of the {formatCount(FILES_MAX)} largest files of each version.</p>}
          {!value.table.length && <p class="note">Columns and properties are the same.</p>}
          <table class="list">
            <tbody>
              {value.table.map((change) => (
                <tr key={change.what}><th>{change.what}</th><td class="code removed">{change.before ?? ""}</td><td class="code added">{change.after ?? ""}</td></tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </aside>
  );
}
