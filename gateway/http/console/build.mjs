// Bundles src/ into dist/: one script and one style sheet, named by their content, and the page that names them.
// With --tests the tests are bundled into build/tests/ for node's own runner.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const options = {
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
  logLevel: "warning",
};

async function bundleTests() {
  const names = (await readdir("src", { recursive: true })).filter((name) => /\.test\.tsx?$/.test(name));
  await build({
    ...options,
    entryPoints: names.map((name) => `src/${name}`),
    outdir: "build/tests",
    outExtension: { ".js": ".mjs" },
    platform: "node",
  });
}

async function bundlePage() {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist");
  const script = await build({ ...options, entryPoints: ["src/main.tsx"], minify: true, write: false, metafile: true });
  const styles = await build({ ...options, entryPoints: ["styles.css"], minify: true, write: false });
  const named = async ({ outputFiles: [file] }, ending) => {
    const name = `console-${createHash("sha256").update(file.contents).digest("hex").slice(0, 16)}.${ending}`;
    await writeFile(`dist/${name}`, file.contents);
    return name;
  };
  const page = (await readFile("index.html", "utf8"))
    .replace("{script}", await named(script, "js"))
    .replace("{styles}", await named(styles, "css"));
  await writeFile("dist/index.html", page);
  await writeFile("dist/licenses.txt", await licenses(Object.keys(script.metafile.inputs)));
}

/** The licenses of the packages whose files are in the bundle. */
async function licenses(inputs) {
  const names = inputs.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const texts = [];
  for (const name of [...new Set(names)].sort()) {
    const folder = `node_modules/${name}`;
    const { version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[sc]e/i.test(each));
    const text = file ? await readFile(`${folder}/${file}`, "utf8") : "";
    texts.push(`${name} ${version}, ${license}\n\n${text.trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

await (process.argv.includes("--tests") ? bundleTests() : bundlePage());
