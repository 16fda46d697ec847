package store

import (
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// The parts of an edit in this file make no generation. They come from files that describe the fleet. Most of them
// name the value that they expect to replace (From); if another value is stored now, the edit fails with a
// precondition error.

// turnsOf returns a new turn for each mode that an edit may set. Turns order the decisions about modes; see override.
func (s *Store) turnsOf(edit fleet.Edit) map[fleet.ModeScope]int64 {
	turns := map[fleet.ModeScope]int64{}
	for _, c := range edit.Modes {
		turns[fleet.ModeScope{Tag: c.Tag}] = s.model.nextTurn()
	}
	for _, c := range edit.Settings {
		turns[fleet.ModeScope{Device: c.Device}] = s.model.nextTurn()
	}
	return turns
}

// changeFiles stores which file each template of the edit came from, and the state of the source of the files.
func (e *editing) changeFiles() error {
	origins := map[int64]fleet.Origin{}
	maps.Copy(origins, e.Files.Origins)
	for i, name := range e.Files.NewNames {
		origins[e.done.New[i].ID] = fleet.Origin{Source: e.Files.Source, Name: name}
	}
	if len(origins) == 0 && e.Files.Kept == nil {
		return nil
	}
	if err := e.putOrigins(origins); err != nil {
		return err
	}
	if e.Files.Kept != nil {
		if err := e.putSource(e.Files.Source, e.Files.Kept.To); err != nil {
			return err
		}
	}
	return e.changeRules()
}

func (e *editing) changeLabels() error {
	for _, c := range e.Labels {
		row, err := e.registered(c.Device)
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
		if _, err := e.replaceDevice(row, device); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) changeSettings() error {
	for _, c := range e.Settings {
		row, err := e.registered(c.Device)
		switch {
		case err != nil:
			return err
		case row.Settings != c.From:
			return overtaken("the settings of device " + string(c.Device))
		}
		if c.To.Mode != c.From.Mode {
			e.decideFor(fleet.ModeScope{Device: c.Device}, c.To.Mode)
		}
		e.record("device.settings", string(c.Device), describe(c.To))
		if err := e.putSettings(row, c.To); err != nil {
			return err
		}
	}
	return nil
}

// decideFor notes the decision about a mode: the edit's turn counts for it (see decide), and after the commit the
// store knows who decided it and when.
func (e *editing) decideFor(scope fleet.ModeScope, mode fleet.Mode) {
	e.decide(scope, e.turns[scope])
	decision := modeDecision{mode: mode, at: e.now, who: e.who}
	e.committed(func() { e.store.decisions.set(scope, decision) })
}

func (e *editing) changeModes() error {
	for _, c := range e.Modes {
		scope := fleet.ModeScope{Tag: c.Tag}
		if is := e.store.modeOf(scope); is != c.From && (is != "" || c.From != fleet.ModeOn) {
			return overtaken(fmt.Sprintf("the mode of the tag %q", c.Tag))
		}
		e.decideFor(scope, c.To)
		if err := e.putTagMode(c.Tag, c.To); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) changeRoots() error {
	for _, c := range e.Roots {
		was, _, err := e.keysIn(rootRows, `tag = $1`, string(c.Tag))
		if err != nil {
			return err
		}
		if !slices.Equal(was, c.From) {
			return overtaken("the folder roots")
		}
		if err := e.putFolderRoots(c.Tag, c.To); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) changeProtection() error {
	for _, c := range e.Protect {
		if err := e.protectTag(c.Tag, c.To); err != nil {
			return err
		}
	}
	return nil
}

func overtaken(what string) error {
	return &fleet.Error{Code: fleet.CodePrecondition, Message: what + " was changed since the plan was made",
		Hint: "Plan again, and apply that plan."}
}
