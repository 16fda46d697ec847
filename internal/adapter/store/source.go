package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// forgetSource deletes the source of files that the edit names in Forget. The templates of the source stay, and belong
// to no source from then on. An unknown source is a not-found error.
func (e *editing) forgetSource() error {
	name := e.Forget
	if name == "" {
		return nil
	}
	known, err := e.source(name)
	if err != nil {
		return err
	}
	if known == nil {
		return fleet.NotFoundf("there is no source %q", name)
	}
	err = e.marking(sourceRows, func() error { return e.exec(`DELETE FROM sources WHERE name = $1`, name) }, name)
	if err != nil {
		return err
	}
	if err := e.forgetOrigins(name); err != nil {
		return err
	}
	e.record("source.forget", name, "")
	e.register(func(c *contents) {
		c.sources, c.origins = maps.Clone(c.sources), maps.Clone(c.origins)
		delete(c.sources, name)
		for id, origin := range c.origins {
			if origin.Source == name {
				c.origins[id] = fleet.Origin{Name: origin.Name}
			}
		}
	})
	return e.changeRules()
}

func (t *tx) forgetOrigins(source string) error {
	templates, err := collect(t.ctx, t.session, func(row scanner) (id int64, err error) { return id, row.Scan(&id) },
		`SELECT template_id FROM template_origins WHERE source = $1`, source)
	for _, id := range templates {
		err = errors.Join(err, t.amending(originRows, func() error {
			return t.exec(`UPDATE template_origins SET source = '' WHERE template_id = $1`, id)
		}, id))
	}
	return err
}

// source returns a source as the transaction sees it, or nil if it is not known.
func (t *tx) source(name string) (*fleet.Source, error) {
	var source fleet.Source
	var assertions string
	err := t.row(`SELECT read_only, assertions FROM sources WHERE name = $1`, name).Scan(&source.ReadOnly, &assertions)
	if absent(err) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(assertions), &source.Tests)
	}
	return &source, err
}

func (t *tx) putSource(name string, source fleet.Source) error {
	assertions, err := json.Marshal(append([]fleet.Assertion{}, source.Tests...))
	if err != nil {
		return err
	}
	what := "changed from elsewhere too"
	if source.ReadOnly {
		what = "read-only elsewhere"
	}
	t.record("source.put", name, fmt.Sprintf("%s, assertions: %d", what, len(source.Tests)))
	t.register(func(c *contents) {
		c.sources = maps.Clone(c.sources)
		c.sources[name] = source
	})
	return t.marking(sourceRows, func() error {
		return t.exec(`
			INSERT INTO sources (name, read_only, assertions) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET read_only = excluded.read_only, assertions = excluded.assertions`,
			name, source.ReadOnly, string(assertions))
	}, name)
}

func (t *tx) putOrigins(origins map[int64]fleet.Origin) error {
	t.register(func(c *contents) {
		c.origins = maps.Clone(c.origins)
		maps.Copy(c.origins, origins)
	})
	for _, id := range slices.Sorted(maps.Keys(origins)) {
		err := t.marking(originRows, func() error {
			return t.exec(`
				INSERT INTO template_origins (template_id, source, name) VALUES ($1, $2, $3)
				ON CONFLICT (template_id) DO UPDATE SET source = excluded.source, name = excluded.name`, id, origins[id].Source,
				origins[id].Name)
		}, id)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadSources(ctx context.Context, q querier, c *contents) error {
	_, err := collect(ctx, q, func(row scanner) (none struct{}, err error) {
		var name, assertions string
		var source fleet.Source
		if err := row.Scan(&name, &source.ReadOnly, &assertions); err != nil {
			return none, err
		}
		err = json.Unmarshal([]byte(assertions), &source.Tests)
		c.sources[name] = source
		return none, err
	}, `SELECT name, read_only, assertions FROM sources`)
	if err != nil {
		return err
	}
	_, err = collect(ctx, q, func(row scanner) (none struct{}, err error) {
		var id int64
		var origin fleet.Origin
		err = row.Scan(&id, &origin.Source, &origin.Name)
		c.origins[id] = origin
		return none, err
	}, `SELECT template_id, source, name FROM template_origins`)
	return err
}
