package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// ForgetSource forgets a source: its templates stay, and belong to no source any more.
func (s *Store) ForgetSource(ctx context.Context, name string) error {
	_, err := write(ctx, s, "forget source", func(t *tx) (none struct{}, err error) {
		known, err := t.source(name)
		if err != nil {
			return none, err
		}
		if known == nil {
			return none, fleet.NotFoundf("there is no source %q", name)
		}
		if err := t.exec(`DELETE FROM sources WHERE name = $1`, name); err != nil {
			return none, err
		}
		if err := t.exec(`UPDATE template_origins SET source = '' WHERE source = $1`, name); err != nil {
			return none, err
		}
		t.record("source.forget", name, "")
		t.register(func(c *contents) {
			c.sources, c.origins = maps.Clone(c.sources), maps.Clone(c.origins)
			delete(c.sources, name)
			for id, origin := range c.origins {
				if origin.Source == name {
					c.origins[id] = fleet.Origin{Name: origin.Name}
				}
			}
		})
		return none, nil
	})
	return err
}

// source is what is kept of a source as the transaction sees it; nil: it is not known.
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
	return t.exec(`
		INSERT INTO sources (name, read_only, assertions) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET read_only = excluded.read_only, assertions = excluded.assertions`,
		name, source.ReadOnly, string(assertions))
}

func (t *tx) putOrigins(origins map[int64]fleet.Origin) error {
	t.register(func(c *contents) {
		c.origins = maps.Clone(c.origins)
		maps.Copy(c.origins, origins)
	})
	for _, id := range slices.Sorted(maps.Keys(origins)) {
		err := t.exec(`
			INSERT INTO template_origins (template_id, source, name) VALUES ($1, $2, $3)
			ON CONFLICT (template_id) DO UPDATE SET source = excluded.source, name = excluded.name`, id, origins[id].Source,
			origins[id].Name)
		if err != nil {
			return err
		}
	}
	return nil
}

// mayChangeTemplates refuses to change a template whose source is read-only elsewhere, unless the change comes from
// the files of that source. An undo takes back what they changed, too: it does not ask.
func (t *tx) mayChangeTemplates(ids ...int64) error {
	for _, id := range ids {
		var source string
		err := t.row(`SELECT s.name FROM template_origins o JOIN sources s ON s.name = o.source
			WHERE o.template_id = $1 AND s.read_only`, id).Scan(&source)
		switch {
		case absent(err) || err == nil && source == t.from:
		case err != nil:
			return err
		default:
			return readOnlySource(strconv.FormatInt(id, 10), source)
		}
	}
	return nil
}

func readOnlySource(template, source string) error {
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("template %s belongs to the source %q, which is read-only elsewhere", template, source),
		Hint: "Change its file, and apply the files of that source with `muster apply -f DIR`. If they are gone, an admin " +
			"gives the source up with `muster source forget " + source + "`."}
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

// ApplyAdjustment brings the fleet to what files say, all of it or nothing. Templates and tags change in one
// generation. based is the generation that the adjustment was compared with: when that, or anything else that it
// changes, was changed since, the answer is precondition.
func (s *Store) ApplyAdjustment(ctx context.Context, a fleet.Adjustment, based int64) (fleet.Applied, error) {
	if err := a.Edit.Check(); err != nil {
		return fleet.Applied{}, err
	}
	a.Edit = a.Edit.SavedBy(fleet.ActorOf(ctx), fleet.RoleOf(ctx))
	turns := map[fleet.ModeScope]int64{}
	for _, c := range a.Modes {
		turns[fleet.ModeScope{Tag: c.Tag}] = s.model.nextTurn()
	}
	for _, c := range a.Settings {
		turns[fleet.ModeScope{Device: c.Device}] = s.model.nextTurn()
	}
	return write(ctx, s, "apply files", func(t *tx) (fleet.Applied, error) {
		t.from = a.Source
		done, err := t.applyEdit(a.Edit, based)
		if err != nil {
			return done, err
		}
		origins := map[int64]fleet.Origin{}
		maps.Copy(origins, a.Origins)
		for i, made := range done.New {
			origins[made.ID] = fleet.Origin{Source: a.Source, Name: a.NewNames[i]}
		}
		if err := t.putOrigins(origins); err != nil {
			return done, err
		}
		x := adjusting{t, turns}
		for _, change := range []func(fleet.Adjustment) error{x.labels, x.settings, x.modes, x.roots, x.protect, x.kept} {
			if err := change(a); err != nil {
				return done, err
			}
		}
		return done, nil
	})
}

// adjusting is the part of an adjustment that makes no generation.
type adjusting struct {
	*tx
	turns map[fleet.ModeScope]int64
}

func (x adjusting) labels(a fleet.Adjustment) error {
	for _, c := range a.Labels {
		row, err := x.registered(c.Device)
		switch {
		case err != nil:
			return err
		case row.Label != c.From:
			return overtaken("the label of device " + string(c.Device))
		case row.Altered:
			return alteredDevice(c.Device)
		}
		device := row.Device
		device.Label = c.To
		if _, err := x.replaceDevice(row, device); err != nil {
			return err
		}
	}
	return nil
}

func (x adjusting) settings(a fleet.Adjustment) error {
	for _, c := range a.Settings {
		row, err := x.registered(c.Device)
		switch {
		case err != nil:
			return err
		case row.Settings != c.From:
			return overtaken("the settings of device " + string(c.Device))
		}
		if c.To.Mode != c.From.Mode {
			x.decideFor(fleet.ModeScope{Device: c.Device}, c.To.Mode)
		}
		x.record("device.settings", string(c.Device), describe(c.To))
		if err := x.putSettings(row, c.To); err != nil {
			return err
		}
	}
	return nil
}

// decideFor notes whose decision a mode is.
func (x adjusting) decideFor(scope fleet.ModeScope, mode fleet.Mode) {
	x.decide(scope, x.turns[scope])
	decision := modeDecision{mode: mode, at: x.now, who: x.who}
	x.committed(func() { x.store.decisions.set(scope, decision) })
}

func (x adjusting) modes(a fleet.Adjustment) error {
	for _, c := range a.Modes {
		scope := fleet.ModeScope{Tag: c.Tag}
		if is := x.store.modeOf(scope); is != c.From && (is != "" || c.From != fleet.ModeOn) {
			return overtaken(fmt.Sprintf("the mode of the tag %q", c.Tag))
		}
		x.decideFor(scope, c.To)
		if err := x.putTagMode(c.Tag, c.To); err != nil {
			return err
		}
	}
	return nil
}

func (x adjusting) roots(a fleet.Adjustment) error {
	for _, c := range a.Roots {
		was, err := x.folderRoots(c.Tag)
		if err != nil {
			return err
		}
		if !slices.Equal(was, c.From) {
			return overtaken("the folder roots")
		}
		if err := x.putFolderRoots(c.Tag, c.To); err != nil {
			return err
		}
	}
	return nil
}

func (x adjusting) protect(a fleet.Adjustment) error {
	for _, c := range a.Protect {
		if err := x.protectTag(c.Tag, c.To); err != nil {
			return err
		}
	}
	return nil
}

func (x adjusting) kept(a fleet.Adjustment) error {
	if a.Kept == nil {
		return nil
	}
	return x.putSource(a.Source, a.Kept.To)
}

func overtaken(what string) error {
	return &fleet.Error{Code: fleet.CodePrecondition, Message: what + " was changed since the plan was made",
		Hint: "Plan again, and apply that plan."}
}
