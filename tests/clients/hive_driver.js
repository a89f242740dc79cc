// Drives hive-driver: node hive_driver.js PORT TRANSPORT CA-FILE|"" [ROWS]; prints a line of JSON for each step.
const fs = require("fs");
const hive = require("hive-driver");
const { TCLIService, TCLIService_types: types } = hive.thrift;
const utils = new hive.HiveUtils(types);
const [port, transport, authority] = [Number(process.argv[2]), process.argv[3], process.argv[4]];
const credentials = { username: "ada", password: "x" };

function ways() {
  const { TcpConnection, HttpConnection } = hive.connections;
  const { NoSaslAuthentication, PlainTcpAuthentication, PlainHttpAuthentication } = hive.auth;
  const https = authority ? { https: true, ca: fs.readFileSync(authority) } : {};
  return {
    sasl: [{}, new TcpConnection(), new PlainTcpAuthentication(credentials)],
    nosasl: [{}, new TcpConnection(), new NoSaslAuthentication()],
    http: [{ path: "/cliservice" }, new HttpConnection(), new PlainHttpAuthentication(credentials)],
    https: [{ path: "/cliservice", ...https }, new HttpConnection(), new PlainHttpAuthentication(credentials)],
  }[transport];
}

async function rowsOf(operation) {
  await utils.waitUntilReady(operation, false, () => {});
  await utils.fetchAll(operation);
  const rows = utils.getResult(operation).getValue();
  await operation.close();
  return rows;
}

async function main() {
  const client = new hive.HiveClient(TCLIService, types);
  client.on("error", () => {});
  const [options, connection, authentication] = ways();
  await client.connect({ host: "localhost", port, options }, connection, authentication);
  const session = await client.openSession({ client_protocol: types.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V10 });
  const run = async (text) => rowsOf(await session.executeStatement(text, { runAsync: true }));
  const say = (value) => console.log(JSON.stringify(value));
  say(await run("SELECT 1"));
  say((await run("SELECT types"))[0]);
  const count = Number(process.argv[5] || 1500);
  const many = await run(`ROWS ${count}`);
  say([many.length, many[count - 1].id]);
  say(await run("SELEKT 1").catch((error) => error.response.errorMessage));
  say((await rowsOf(await session.getTables({ schemaName: "lab" }))).map((row) => row.TABLE_NAME));
  say((await rowsOf(await session.getColumns({ schemaName: "lab", tableName: "t" }))).map((row) => row.COLUMN_NAME));
  const slow = await session.executeStatement("SLEEP 300", { runAsync: true });
  await slow.cancel();
  say((await slow.status()).operationState === types.TOperationState.CANCELED_STATE);
  const limited = await session.executeStatement("SLEEP 300", { runAsync: true, queryTimeout: 1 });
  say(await utils.waitUntilReady(limited, false, () => {}).then(() => "ended", (error) => error.message || String(error)));
  say(await run("SELECT 1"));
  await session.close();
  await client.close();
  const again = new hive.HiveClient(TCLIService, types);
  await again.connect({ host: "localhost", port, options }, ...ways().slice(1));
  const next = await again.openSession({ client_protocol: types.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V10 });
  say(await rowsOf(await next.executeStatement("SELECT 1", { runAsync: true })));
  await again.close();
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
