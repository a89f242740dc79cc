// node-postgres: rows, bound values and an error, a line of JSON each.
const { Client } = require("pg");

async function main() {
  const client = new Client({ host: "localhost", port: Number(process.argv[2]), user: "ada", database: "postgres", statement_timeout: 60000 });
  await client.connect();
  const show = (value) => console.log(JSON.stringify(value));
  show((await client.query("SELECT id, name, price FROM pg.people WHERE id = 1")).rows);
  show((await client.query("SELECT name FROM pg.people WHERE id = $1 AND name = $2", [1, "ann"])).rows);
  try {
    await client.query("SELECT * FROM pg.nobody");
  } catch (error) {
    show(error.code);
  }
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
