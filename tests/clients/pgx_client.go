// pgx: a row, a bound value, the number of copied rows, and the state of an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "postgres://ada@localhost:"+os.Args[1]+"/postgres?sslmode=disable")
	check(err)
	var id int32
	var name string
	check(conn.QueryRow(ctx, "SELECT id, name FROM pg.people WHERE id = 1").Scan(&id, &name))
	fmt.Println(id, name)
	check(conn.QueryRow(ctx, "SELECT name FROM pg.people WHERE id = $1", 1).Scan(&name))
	fmt.Println(name)
	rows := [][]any{{int32(90), "x"}, {int32(91), "y"}, {int32(92), nil}}
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"pg", "people"}, []string{"id", "name"}, pgx.CopyFromRows(rows))
	check(err)
	fmt.Println(count)
	_, err = conn.Exec(ctx, "DELETE FROM pg.people WHERE id >= 90")
	check(err)
	_, err = conn.Exec(ctx, "SELECT * FROM pg.nobody")
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		fmt.Println(failure.Code)
	}
	check(conn.Close(ctx))
}
