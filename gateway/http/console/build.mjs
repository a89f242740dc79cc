// Bundles src/ into dist/: a script, the parts that it loads when they are needed, and a style sheet, all named by their
// content, and the page that names them. React's packages are Preact's, which the component library runs on.
// With --tests the tests are bundled into build/tests/ for node's own runner.
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const options = {
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  alias: { react: "./src/ui/react.js", "react-dom": "preact/compat", "react/jsx-runtime": "preact/jsx-runtime" },
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
  const { metafile } = await build({
    ...options,
    entryPoints: ["src/main.tsx", "styles.css"],
    outdir: "dist",
    entryNames: "console-[hash]",
    chunkNames: "part-[hash]",
    splitting: true,
    minify: true,
    metafile: true,
  });
  const written = Object.entries(metafile.outputs);
  const nameOf = (source) => written.find(([, { entryPoint }]) => entryPoint === source)[0].replace("dist/", "");
  const page = (await readFile("index.html", "utf8"))
    .replace("{script}", nameOf("src/main.tsx"))
    .replace("{styles}", nameOf("styles.css"));
  await writeFile("dist/index.html", page);
  await writeFile("dist/licenses.txt", await licenses(Object.keys(metafile.inputs)));
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
