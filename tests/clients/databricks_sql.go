// Drives databricks-sql-go: databricks_sql PORT, trusting SSL_CERT_FILE; prints a line of JSON per step.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	dbsql "github.com/databricks/databricks-sql-go"
)

func say(value any) {
	text, err := json.Marshal(value)
	check(err)
	fmt.Println(string(text))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	port, err := strconv.Atoi(os.Args[1])
	check(err)
	connector, err := dbsql.NewConnector(
		dbsql.WithServerHostname("localhost"), dbsql.WithPort(port), dbsql.WithHTTPPath("/sql/1.0/warehouses/any"),
		dbsql.WithAccessToken("any"), dbsql.WithInitialNamespace("spark_catalog", "lab"))
	check(err)
	db := sql.OpenDB(connector)
	defer db.Close()
	var one int
	check(db.QueryRow("SELECT 1").Scan(&one))
	say(one)
	rows, err := db.Query("ROWS 100000")
	check(err)
	defer rows.Close()
	columns, err := rows.Columns()
	check(err)
	say(columns)
	count := 0
	for rows.Next() {
		count++
	}
	check(rows.Err())
	say(count)
	_, err = db.Query("SELEKT 1")
	say(fmt.Sprint(err))
	done, err := db.Exec("INSERT")
	check(err)
	changed, err := done.RowsAffected()
	check(err)
	say(changed)
}
