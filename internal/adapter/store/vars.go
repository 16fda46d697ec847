package store

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"muster/internal/fleet"
)

// varsTables names the tables that hold the vars of devices, or those that hold the vars of tags.
type varsTables struct {
	table   string // table of the present vars
	history string
	column  string // column of the owner's ID or name, in both tables
	rows    *markedTable
	past    *markedTable // its table is history
}

var (
	deviceVars = varsTables{"device_vars", "device_vars_history", "device_id", deviceVarsRows, deviceVarsHistoryRows}
	tagVars    = varsTables{"tag_vars", "tag_vars_history", "tag", tagVarsRows, tagVarsHistoryRows}
)

// varsTablesOf returns the tables with an owner's vars, and the name that the owner has in them.
func varsTablesOf(of fleet.VarsOwner) (varsTables, string) {
	if of.Device == "" {
		return tagVars, string(of.Tag)
	}
	return deviceVars, string(of.Device)
}

func (v varsTables) owner(name string) fleet.VarsOwner {
	if v == tagVars {
		return fleet.VarsOwner{Tag: fleet.Tag(name)}
	}
	return fleet.VarsOwner{Device: fleet.DeviceID(name)}
}

// changeVars replaces the vars of devices and tags. A tag that no device has can have vars too. Vars that stay the
// same make no generation and keep their SavedBy, unless they have no SavedRole and the edit gives them one.
func (e *editing) changeVars() error {
	for _, c := range e.Vars {
		was, err := e.varsOf(c.VarsOwner)
		if err != nil {
			return err
		}
		if err := e.check(fleet.Found{Vars: was.Vars}); err != nil {
			return err
		}
		if was.Vars == c.Vars && (was.Vars == "" || was.SavedRole != "" || c.SavedRole == "") {
			continue
		}
		c.SavedVars = c.SavedOver(was)
		if err := e.inGeneration(func(now int64) error { return e.setVars(c, was.Vars, now) }); err != nil {
			return err
		}
	}
	return nil
}

// varsOf returns the vars of an owner as the transaction sees them, or the zero value if the owner has none. A device
// that is not registered is a not-found error. SavedBy and SavedRole are empty if the row is not believed.
func (t *tx) varsOf(of fleet.VarsOwner) (saved fleet.SavedVars, err error) {
	if of.Device == "" {
		if _, err := fleet.ParseTag(string(of.Tag)); err != nil {
			return saved, err
		}
	} else if there, err := t.exists(of.Device); err != nil || !there {
		return saved, orElse(err, noDevice(of.Device))
	}
	tables, name := varsTablesOf(of)
	scan := func(row scanner) (fleet.SavedVars, error) { return t.store.scanVars(row, tables.table, name) }
	read, err := believing(t.store, tables.rows, scan)(t.row(`SELECT vars, saved_by, saved_role, `+
		tables.rows.columns("")+` FROM `+tables.table+` WHERE `+tables.column+` = $1`, name))
	if absent(err) {
		return fleet.SavedVars{}, nil
	}
	if !read.believed {
		read.value.SavedBy, read.value.SavedRole = "", ""
	}
	return read.value, err
}

// scanVars reads the vars, saved_by and saved_role of a row.
func (s *Store) scanVars(row scanner, table, name string) (saved fleet.SavedVars, err error) {
	var sealed []byte
	var role string
	if err := row.Scan(&sealed, &saved.SavedBy, &role); err != nil {
		return saved, err
	}
	saved.SavedRole = fleet.Role(role)
	vars, err := s.seal.Open(table, name, "vars", sealed)
	saved.Vars = fleet.Vars(vars)
	return saved, err
}

// setVars replaces the vars of an owner, and adds the new vars to the history of a generation. Empty vars delete the
// row. was are the present vars, for the audit.
func (t *tx) setVars(c fleet.VarsChange, was fleet.Vars, generation int64) error {
	if c.Device == "" {
		if err := t.roomForTagVars(c); err != nil {
			return err
		}
	}
	tables, name := varsTablesOf(c.VarsOwner)
	if err := t.unmark(tables.rows, tables.column+` = $1`, name); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM `+tables.table+` WHERE `+tables.column+` = $1`, name); err != nil {
		return err
	}
	seal := t.store.seal
	if c.Vars != "" {
		err := t.exec(`INSERT INTO `+tables.table+` (`+tables.column+`, vars, saved_by, saved_role) VALUES ($1, $2, $3, $4)`,
			name, seal.Seal(tables.table, name, "vars", []byte(c.Vars)), c.SavedBy, string(c.SavedRole))
		if err == nil {
			err = t.mark(tables.rows, name)
		}
		if err != nil {
			return err
		}
	}
	what := "device.vars"
	if c.Device == "" {
		what = "tag.vars"
	}
	t.record(what, name, c.Vars.Differences(was))
	t.register(func(now *contents) { now.putVars(c) })
	err := t.exec(`INSERT INTO `+tables.history+` (generation, `+tables.column+`, vars, saved_by, saved_role)
		VALUES ($1, $2, $3, $4, $5)`, generation, name,
		seal.Seal(tables.history, pastVarsRow(name, generation), "vars", []byte(c.Vars)), c.SavedBy, string(c.SavedRole))
	return errors.Join(err, t.mark(tables.past, name, generation))
}

// pastVarsRow returns the text that identifies a row of the history of vars when its vars are sealed.
func pastVarsRow(name string, generation int64) string { return fmt.Sprintf("%s/%d", name, generation) }

// roomForTagVars returns an error if the change would make the vars of all tags together too large.
func (t *tx) roomForTagVars(c fleet.VarsChange) error {
	all, err := t.store.readVars(t.ctx, t.session, tagVars)
	if err != nil {
		return err
	}
	sum := len(c.Vars)
	for of, saved := range all {
		if of != c.VarsOwner {
			sum += len(saved.Vars)
		}
	}
	if sum <= fleet.MaxTagVars {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeTooLarge,
		Message: fmt.Sprintf("the vars of all tags would have %d bytes, and may have %d", sum, fleet.MaxTagVars),
		Hint:    "Take out vars of other tags, or keep these values in a template."}
}

// putVars replaces the vars of an owner in memory, or removes them if they are empty.
func (c *contents) putVars(change fleet.VarsChange) {
	saved := change.SavedVars
	if saved.Vars == "" {
		saved = fleet.SavedVars{}
	}
	if change.Device != "" {
		c.device(change.Device, func(r *fleet.Registered) { r.Vars = saved })
		return
	}
	c.tagVars = maps.Clone(c.tagVars)
	if c.tagVars == nil {
		c.tagVars = map[fleet.Tag]fleet.SavedVars{}
	}
	if c.tagVars[change.Tag] = saved; saved.Vars == "" {
		delete(c.tagVars, change.Tag)
	}
}

// readVars returns the present vars of all owners of one kind.
func (s *Store) readVars(ctx context.Context, q querier, of varsTables) (map[fleet.VarsOwner]fleet.SavedVars, error) {
	all := map[fleet.VarsOwner]fleet.SavedVars{}
	_, err := collect(ctx, q, func(row scanner) (none struct{}, err error) {
		var name string
		var sealed []byte
		var saved fleet.SavedVars
		if err := row.Scan(&name, &sealed, &saved.SavedBy, (*string)(&saved.SavedRole)); err != nil {
			return none, err
		}
		vars, err := s.seal.Open(of.table, name, "vars", sealed)
		saved.Vars = fleet.Vars(vars)
		all[of.owner(name)] = saved
		return none, err
	}, `SELECT `+of.column+`, vars, saved_by, saved_role FROM `+of.table)
	return all, err
}

func (s *Store) loadVars(ctx context.Context, q querier, c *contents) error {
	for _, of := range []varsTables{deviceVars, tagVars} {
		all, err := s.readVars(ctx, q, of)
		if err != nil {
			return err
		}
		for owner, saved := range all {
			c.putVars(fleet.VarsChange{VarsOwner: owner, SavedVars: saved})
		}
	}
	return nil
}

// pastVarsChange is one row of the history of vars: the vars that an owner got in a generation.
type pastVarsChange struct {
	generation int64
	forged     bool // The row is not believed.
	fleet.VarsChange
}

// scanPastVars returns the scan function for the columns of selectPast.
func (s *Store) scanPastVars(of varsTables) func(scanner) (pastVarsChange, error) {
	return func(row scanner) (past pastVarsChange, err error) {
		var name string
		var sealed []byte
		read, err := believing(s, of.past, func(row scanner) (none struct{}, err error) {
			return none, row.Scan(&past.generation, &name, &sealed, &past.SavedBy, (*string)(&past.SavedRole))
		})(row)
		if err != nil {
			return past, err
		}
		if past.forged = !read.believed; past.forged {
			past.SavedBy, past.SavedRole = "", ""
		}
		past.VarsOwner = of.owner(name)
		vars, err := s.seal.Open(of.history, pastVarsRow(name, past.generation), "vars", sealed)
		past.Vars = fleet.Vars(vars)
		return past, err
	}
}

func (v varsTables) selectPast() string {
	return `SELECT generation, ` + v.column + `, vars, saved_by, saved_role, ` + v.past.columns(
		"h",
	) + ` FROM ` + v.history + ` h `
}

// pastVars replaces the vars in past by those of the generation past.generation.
func (s *Store) pastVars(ctx context.Context, past *contents) error {
	past.tagVars = nil
	for _, of := range []varsTables{deviceVars, tagVars} {
		changes, err := collect(ctx, pool{s.reads}, s.scanPastVars(of), of.selectPast()+`WHERE generation = (
			SELECT MAX(generation) FROM `+of.history+` WHERE `+of.column+` = h.`+of.column+` AND generation <= $1)`,
			past.generation)
		if err != nil {
			return err
		}
		for _, c := range changes {
			past.putVars(c.VarsChange)
		}
	}
	return nil
}

// changedVars adds the changes of vars to the generations that made them. It covers the generations from number
// after+1 to last. at returns the place for the changes of one generation.
func (s *Store) changedVars(ctx context.Context, after, last int64, at func(int64) *fleet.GenerationChange) error {
	for _, of := range []varsTables{deviceVars, tagVars} {
		changes, err := collect(ctx, pool{s.reads}, s.scanPastVars(of), of.selectPast()+`
			WHERE generation > $1 AND generation <= $2 ORDER BY generation, `+of.column, after, last)
		if err != nil {
			return err
		}
		for _, c := range changes {
			at(c.generation).Vars = append(at(c.generation).Vars, c.VarsChange)
		}
	}
	return nil
}

// varsBack gives owners the vars that they had before the first of these generations. now is the generation that the
// undo makes.
func (t *tx) varsBack(of varsTables, generations []int64, now int64) error {
	firsts, err := t.firstChanges(of.history, of.column+`, ''`, generations)
	if err != nil {
		return err
	}
	for _, f := range firsts {
		owner := of.owner(f.id)
		is, err := t.varsOf(owner)
		if fleet.CodeOf(err) == fleet.CodeNotFound {
			continue // The device is not registered any more.
		}
		if err != nil {
			return err
		}
		was, err := t.store.scanPastVars(of)(t.row(of.selectPast()+`WHERE `+of.column+` = $1 AND generation < $2
			ORDER BY generation DESC LIMIT 1`, f.id, f.generation))
		if err != nil && !absent(err) {
			return err
		}
		if was.Vars == is.Vars {
			continue
		}
		if was.forged {
			return forgedHistory("vars")
		}
		back := fleet.VarsChange{VarsOwner: owner, SavedVars: was.SavedVars}
		if err := t.setVars(back, is.Vars, now); err != nil {
			return err
		}
	}
	return nil
}
