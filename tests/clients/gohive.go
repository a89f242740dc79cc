// Commands in, answers out, each a line of JSON, by gohive: gohive sasl|nosasl|http PORT
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/beltran/gohive"
)

type command struct {
	Do  string `json:"do"`
	SQL string `json:"sql"`
}

func connect(mode string, port int) *gohive.Connection {
	configuration := gohive.NewConnectConfiguration()
	configuration.Username, configuration.Password = "ada", "x"
	authentication := "NONE"
	switch mode {
	case "nosasl":
		authentication = "NOSASL"
	case "http":
		configuration.TransportMode, configuration.HTTPPath = "http", "cliservice"
	}
	connection, err := gohive.Connect("127.0.0.1", port, authentication, configuration)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return connection
}

// text is nil for NULL; a row comes as a map, so that its order is that of the description.
func text(value interface{}) interface{} {
	if value == nil {
		return nil
	}
	if bytes, ok := value.([]byte); ok {
		return string(bytes)
	}
	return fmt.Sprint(value)
}

func run(connection *gohive.Connection, sql string) (rows [][]interface{}, err error) {
	all := context.Background()
	cursor := connection.Cursor()
	defer cursor.Close()
	cursor.Exec(all, sql)
	if cursor.Err != nil {
		return nil, cursor.Err
	}
	for cursor.HasMore(all) {
		if cursor.Err != nil {
			return nil, cursor.Err
		}
		found := cursor.RowMap(all)
		if cursor.Err != nil {
			return nil, cursor.Err
		}
		row := []interface{}{}
		for _, column := range cursor.Description() {
			row = append(row, text(found[column[0]]))
		}
		rows = append(rows, row)
	}
	return rows, cursor.Err
}

func cancelled(connection *gohive.Connection, sql string) error {
	cursor := connection.Cursor()
	defer cursor.Close()
	cursor.Execute(context.Background(), sql, true)
	if cursor.Err != nil {
		return cursor.Err
	}
	time.Sleep(300 * time.Millisecond)
	cursor.Cancel()
	cursor.WaitForCompletion(context.Background())
	return cursor.Err
}

func answer(connection *gohive.Connection, asked command) map[string]interface{} {
	switch asked.Do {
	case "run", "count":
		rows, err := run(connection, asked.SQL)
		if err != nil {
			return map[string]interface{}{"error": err.Error()}
		}
		if asked.Do == "count" {
			return map[string]interface{}{"count": len(rows)}
		}
		return map[string]interface{}{"rows": rows}
	case "cancel":
		if err := cancelled(connection, asked.SQL); err != nil {
			return map[string]interface{}{"error": err.Error()}
		}
		return map[string]interface{}{"rows": nil}
	}
	return map[string]interface{}{"error": "no such command: " + asked.Do}
}

func main() {
	port, _ := strconv.Atoi(os.Args[2])
	connection := connect(os.Args[1], port)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var asked command
		if err := json.NewDecoder(strings.NewReader(lines.Text())).Decode(&asked); err != nil {
			os.Exit(2)
		}
		var told map[string]interface{}
		if asked.Do == "reconnect" {
			connection.Close()
			connection = connect(os.Args[1], port)
			told = map[string]interface{}{}
		} else {
			told = answer(connection, asked)
		}
		line, _ := json.Marshal(told)
		fmt.Println(string(line))
	}
	connection.Close()
}
