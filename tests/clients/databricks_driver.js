// Drives @databricks/sql: node databricks_driver.js PORT, trusting NODE_EXTRA_CA_CERTS; prints a line of JSON per step.
const { DBSQLClient } = require("@databricks/sql");

const say = (value) =>
  console.log(JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item)));

async function rowsOf(operation) {
  const rows = await operation.fetchAll();
  await operation.close();
  return rows;
}

async function main() {
  const client = new DBSQLClient({ logger: { log: () => {} } });
  const path = "/sql/1.0/warehouses/any";
  await client.connect({ host: "localhost", port: Number(process.argv[2]), path, token: "any", telemetryEnabled: false });
  const session = await client.openSession({ initialCatalog: "spark_catalog", initialSchema: "lab" });
  const run = async (text, options) => rowsOf(await session.executeStatement(text, options));
  say(await run("SELECT 1"));
  say((await run("SELECT types"))[0]);
  const many = await run("ROWS 1000000");
  say([many.length, many[999999].id]);
  say(await run("SELEKT 1").catch((error) => error.message));
  await run("SELECT :a", { namedParameters: { a: 5 } });
  await run("SELECT ?", { ordinalParameters: ["x"] });
  const insert = await session.executeStatement("INSERT");
  say([await insert.fetchAll(), Number((await insert.status()).numModifiedRows)]);
  say((await rowsOf(await session.getCatalogs())).map((row) => row.TABLE_CAT));
  say((await rowsOf(await session.getTables({ schemaName: "lab" }))).map((row) => row.TABLE_NAME));
  say((await rowsOf(await session.getColumns({ schemaName: "lab", tableName: "t" }))).map((row) => row.COLUMN_NAME));
  const key = { catalogName: "spark_catalog", schemaName: "lab", tableName: "t" };
  say((await rowsOf(await session.getPrimaryKeys(key))).map((row) => row.COLUMN_NAME));
  say((await rowsOf(await session.getTypeInfo())).length > 10);
  say((await session.getInfo(17)).getValue());
  const slow = await session.executeStatement("SLEEP 300", { queryTimeout: 1 });
  say(await rowsOf(slow).catch((error) => error.message));
  const endless = await session.executeStatement("SLEEP 300");
  setTimeout(() => endless.cancel(), 300);
  say(await rowsOf(endless).catch((error) => error.message));
  say(await run("SELECT 1"));
  await session.close();
  const again = await client.openSession();
  say(await rowsOf(await again.executeStatement("SELECT 1")));
  await client.close();
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
