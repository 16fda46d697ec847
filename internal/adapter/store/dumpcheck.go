package store

import (
	"encoding/hex"
	"fmt"
	"slices"
)

// NewChecker returns a Sink that stores nothing and checks the sealed values of a database: its Row returns an error
// if keys cannot open a value in its place.
func NewChecker(keys Sealer) Sink { return &checker{store: &Store{seal: keys}} }

type checker struct {
	store   *Store
	table   string
	columns []string
}

func (*checker) Schema(int64) error { return nil }

func (c *checker) Table(name string, columns []string) error {
	c.table, c.columns = name, columns
	return nil
}

func (c *checker) Row(values []any) error {
	if c.table == "meta" {
		return c.meta(values)
	}
	for _, column := range sealedColumns {
		if column.table != c.table || !slices.Contains(c.columns, column.column) {
			continue
		}
		sealed, ok := values[slices.Index(c.columns, column.column)].([]byte)
		if !ok {
			continue // NULL
		}
		cell := sealedCell{sealed: sealed}
		for _, key := range column.key {
			i := slices.Index(c.columns, key)
			if i < 0 {
				return fmt.Errorf("the table %s has no column %s", c.table, key)
			}
			cell.key = append(cell.key, values[i])
		}
		if _, err := c.store.seal.Open(column.table, cell.row(), column.column, sealed); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) meta(values []any) error {
	name, value := slices.Index(c.columns, "name"), slices.Index(c.columns, "value")
	if name < 0 || value < 0 || values[name] != "seal_check" {
		return nil
	}
	sealed, err := hex.DecodeString(fmt.Sprint(values[value]))
	if err == nil {
		_, err = c.store.seal.Open("meta", "seal_check", "value", sealed)
	}
	return err
}

func (*checker) Sequence(string, int64) error { return nil }
