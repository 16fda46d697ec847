package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// anEdit is something that a person or Muster changes in the fleet of newMeddled. It is about the first device, the
// first template, the tag office and the first source wherever it can be.
type anEdit struct {
	what string
	do   func(ctx context.Context, m *meddled) error

	// names are the tables of which the edit names the forged row itself, and replaces or deletes it as a whole.
	names []*markedTable

	refused bool // The edit is refused because of the forged row of the device, which is fine: nothing is signed.
}

func editOf(edit func(m *meddled) fleet.Edit) func(context.Context, *meddled) error {
	return func(ctx context.Context, m *meddled) error {
		_, err := m.ApplyEdit(ctx, edit(m), fleet.Basis{})
		return err
	}
}

func settingsOf(change func(*fleet.DeviceSettings)) func(context.Context, *meddled) error {
	return func(ctx context.Context, m *meddled) error {
		id := deviceN(1).ID
		settings := must(m.DeviceSettings(ctx, id))(m.t)
		change(&settings)
		_, err := m.PutDeviceSettings(ctx, id, settings, nil)
		return stored(m.Store, err)
	}
}

func templateEdit(change func(*fleet.Template)) func(context.Context, *meddled) error {
	return editOf(func(m *meddled) fleet.Edit {
		v := must(m.Registry(m.t.Context()))(m.t).Templates[0].Template
		v.SavedBy, v.SavedRole = "admin", fleet.RoleAdmin
		change(&v)
		return fleet.Edit{Changed: []fleet.Template{v}}
	})
}

func taggingOf(tag fleet.Tag) []fleet.Tagging {
	return []fleet.Tagging{{Device: deviceN(1).ID, Tag: tag}, {Template: 1, Tag: tag}}
}

func (m *meddled) varsEdit(of fleet.VarsOwner) fleet.VarsChange {
	return fleet.VarsChange{VarsOwner: of, SavedVars: fleet.SavedVars{Vars: `{"y":1}`, SavedBy: "admin",
		SavedRole: fleet.RoleAdmin}}
}

// editsThatSign are the edits that give rows new marks, of every kind that the store knows.
func editsThatSign() []anEdit {
	none := []*markedTable(nil)
	return []anEdit{
		{"the record of the device", editOf(func(*meddled) fleet.Edit {
			d := deviceN(1)
			d.APIPort = 9000
			return fleet.Edit{Put: []fleet.DevicePut{{Device: d}}}
		}), none, false},
		{"its access", func(ctx context.Context, m *meddled) error {
			before := deviceN(1).Access()
			return m.LearnAccess(ctx, deviceN(1).ID, before, fleet.Access{Key: before.Key, Port: 9001})
		}, none, false},
		{"its quiet time", settingsOf(func(s *fleet.DeviceSettings) { s.QuietAfter = time.Hour }), none, true},
		{"plain HTTP", settingsOf(func(s *fleet.DeviceSettings) { s.AllowPlain = true }), none, true},
		{"its mode", settingsOf(func(s *fleet.DeviceSettings) { s.Mode = fleet.ModePaused }), none, false},
		{"other tags", editOf(func(*meddled) fleet.Edit { return fleet.Edit{Tag: taggingOf("other")} }), none, false},
		{"its own tag off", editOf(func(*meddled) fleet.Edit { return fleet.Edit{Untag: taggingOf("office")} }),
			none, false},
		{"a tag that is deleted", editOf(func(*meddled) fleet.Edit { return fleet.Edit{Drop: []fleet.Tag{"lab"}} }),
			none, false},
		{"the label of the template", templateEdit(func(v *fleet.Template) { v.Label = "label" }),
			[]*markedTable{templateRows}, false},
		{"its priority", templateEdit(func(v *fleet.Template) { v.Priority = 9 }), []*markedTable{templateRows}, false},
		{"its text", templateEdit(func(v *fleet.Template) { v.Text = "true\n" }), []*markedTable{templateRows}, false},
		{"nothing of it", templateEdit(func(*fleet.Template) {}), []*markedTable{templateRows}, false},
		{"another template", editOf(func(*meddled) fleet.Edit {
			return fleet.Edit{New: []fleet.TaggedTemplate{{Template: fleet.Template{Label: "new", Op: fleet.OpSet,
				Key: "options.natEnabled", Text: "true\n"}, Tags: []fleet.Tag{"office"}}}, Deleted: []int64{2}}
		}), none, false},
		{"vars of others", editOf(func(m *meddled) fleet.Edit {
			return fleet.Edit{Vars: []fleet.VarsChange{m.varsEdit(fleet.VarsOwner{Device: deviceN(2).ID}),
				m.varsEdit(fleet.VarsOwner{Tag: "other"})}}
		}), none, false},
		{"another device", editOf(func(*meddled) fleet.Edit { return fleet.Edit{Remove: []fleet.DeviceID{deviceN(2).ID}} }),
			none, false},
		{"another revocation", editOf(func(*meddled) fleet.Edit {
			return fleet.Edit{Revoke: []fleet.Revocation{{Device: deviceN(70).ID}}}
		}), none, false},
		{"other folder roots", func(ctx context.Context, m *meddled) error {
			_, err := m.PutFolderRoots(ctx, "other", []string{"~/Other"}, nil)
			return err
		}, none, false},
		{"other author keys", func(ctx context.Context, m *meddled) error {
			_, err := m.PutAuthorKeys(ctx, "other", []string{"options.maxRecvKbps"}, nil)
			return err
		}, none, false},
		{"another protected tag", func(ctx context.Context, m *meddled) error { return m.ProtectTag(ctx, "other", true) },
			none, false},
		{"another mode", func(ctx context.Context, m *meddled) error {
			return stored(m.Store, m.PutTagMode(ctx, "other", fleet.ModeObserve))
		}, none, false},
		{"another source", editOf(func(*meddled) fleet.Edit {
			return fleet.Edit{Files: fleet.FilesChange{Source: "other", Kept: &fleet.SourceChange{}}}
		}), none, false},
		{"its source forgotten", editOf(func(*meddled) fleet.Edit { return fleet.Edit{Forget: "source 0"} }), none, false},
		{"consents", func(ctx context.Context, m *meddled) error { return m.useConsents(ctx) }, none, false},
		{"a rollout", func(ctx context.Context, m *meddled) error {
			r, g := groupOf(m.t, m.Store, deviceN(1).ID, deviceN(2).ID)
			g.Now = []fleet.Consent{consentOf(g, deviceN(1).ID, "folders.other")}
			_, err := m.PutGroupConsents(ctx, []fleet.GroupConsent{g})
			must(m.PutRollouts(ctx, fleet.RolloutWrite{Hold: []fleet.Hold{{Device: deviceN(2).ID, Generation: 1, Rollout: r.ID}},
				Settled: must(m.Registry(ctx))(m.t), Touched: []fleet.DeviceID{deviceN(1).ID}}))(m.t)
			return err
		}, []*markedTable{holdRows}, false},
		{"an observation", func(ctx context.Context, m *meddled) error {
			o := fullObservation(deviceN(2).ID, "later")
			o.Config.Paths, o.FoundBy = []string{"~/Sync/later"}, "agent"
			seen := fleet.Observation{Device: deviceN(1).ID, LastSeen: seenAt.Add(time.Hour)}
			return m.SaveObservations(ctx, []fleet.Observation{o, seen})
		}, []*markedTable{sightingRows, certificateRows}, false},
		{"an intent", func(ctx context.Context, m *meddled) error {
			id, err := m.BeginIntent(ctx, fleet.Intent{Device: deviceN(2).ID, Generation: 2, Writes: []byte("writes")}, nil)
			if err != nil {
				return err
			}
			return m.FinishIntent(ctx, id, fleet.Ending{Outcome: fleet.OutcomeApplied})
		}, none, false},
	}
}

// useConsents changes every open consent in each way in which a consent changes.
func (m *meddled) useConsents(ctx context.Context) error {
	for _, c := range must(m.OpenConsents(ctx))(m.t) {
		if err := m.PutConsentTimes(ctx, []fleet.Consent{c}); err != nil {
			return err
		}
	}
	var all []int64
	for id := range int64(10) {
		all = append(all, id)
	}
	if err := m.CloseConsents(ctx, all, 7); err != nil {
		return err
	}
	if err := m.ReopenConsents(ctx, all, 7); err != nil {
		return err
	}
	return m.EndConsents(ctx, all)
}

// forgeEverywhere changes a row of each marked table that has more than its key, and adds one without a mark. It
// returns the keys of these rows by table. A server that compares the tables then doubts no table as a whole.
func (m *meddled) forgeEverywhere() map[*markedTable][]string {
	m.t.Helper()
	var names []string
	for _, table := range markedTables {
		names = append(names, table.name)
		m.exec(`CREATE TABLE was_` + table.name + ` AS SELECT * FROM ` + table.name)
	}
	m.keep(names...)
	m.exec(`UPDATE meta SET value = '1' WHERE name IN ('rules', 'settled_generation')`)
	forged := map[*markedTable][]string{}
	for _, table := range markedTables {
		for _, one := range meddlingsOf(table) {
			switch {
			case table == metaRows:
			case one.what == "inserted" && !hasSealed(table): // A sealed value does not open in another row.
				one.do(m, table)
				m.withoutMark(table)
			case one.what == "changed "+changedIn(table):
				one.do(m, table)
			}
		}
		for _, row := range must(m.markedRows(m.t.Context(), inPool{m.db}, table, ""))(m.t) {
			if !row.believed {
				forged[table] = append(forged[table], row.name())
			}
		}
		if len(forged[table]) == 0 {
			m.t.Fatalf("of table %s nothing is forged", table.name)
		}
	}
	return forged
}

func hasSealed(table *markedTable) bool {
	return slices.ContainsFunc(table.content, func(column string) bool { return isSealed(table.name, column) })
}

// withoutMark takes the mark off the rows that were not there when they were kept.
func (m *meddled) withoutMark(table *markedTable) {
	m.t.Helper()
	before := map[string]bool{}
	kept := *table
	kept.name = "kept_" + table.name
	for _, row := range must(m.markedRows(m.t.Context(), inPool{m.db}, &kept, ""))(m.t) {
		before[row.name()] = true
	}
	for _, row := range must(m.markedRows(m.t.Context(), inPool{m.db}, table, ""))(m.t) {
		if !before[row.name()] {
			m.exec(`UPDATE `+table.name+` SET mark = NULL WHERE `+table.byKey(), row.keyArgs()...)
		}
	}
}

// changedIn returns the column of a table that forgeEverywhere changes: the last one that any value may have; "": none.
func changedIn(table *markedTable) string {
	switch table {
	case sourceRows:
		return "read_only"
	case tagModeRows:
		return ""
	}
	columns := slices.DeleteFunc(slices.Clone(table.content), func(column string) bool {
		return isSealed(table.name, strings.TrimSuffix(column, "?"))
	})
	if len(columns) == 0 {
		return ""
	}
	return strings.TrimSuffix(columns[len(columns)-1], "?")
}

// An edit that gave a row a new mark could sign what another program had written into it, or into another row of the
// same thing, and nobody had been shown.
func TestAnEditOfOneThingNeverBelievesAnotherForgedThing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for i, running := range []bool{true, false} {
			for j, edit := range editsThatSign() {
				if !inSample(options, i+j) {
					continue
				}
				what := fmt.Sprintf("%s, with a start before: %t", edit.what, !running)
				t.Run(what, func(t *testing.T) { // The end of each one closes its database.
					m := newMeddledCopy(t, options)
					forged := m.forgeEverywhere()
					if !running {
						m.restart(m.options)
						m.wantNoWholeDoubt()
					}
					ctx := fleet.WithRole(fleet.WithActor(t.Context(), "admin"), fleet.RoleAdmin)
					if err := edit.do(ctx, m); err != nil && !(edit.refused && fleet.CodeOf(err) == fleet.CodeConflict) {
						t.Errorf("%s: %v", what, err)
					}
					m.wantStillForged(what, edit, forged)
				})
			}
		}
	})
}

func (m *meddled) wantNoWholeDoubt() {
	m.t.Helper()
	for _, table := range markedTables {
		if m.doubted(table) {
			m.t.Errorf("the table %s is in doubt as a whole", table.name)
		}
	}
}

func (m *meddled) wantStillForged(what string, edit anEdit, forged map[*markedTable][]string) {
	m.t.Helper()
	for table, keys := range forged {
		if slices.Contains(edit.names, table) {
			continue
		}
		for _, row := range must(m.markedRows(m.t.Context(), inPool{m.db}, table, ""))(m.t) {
			if row.believed && slices.Contains(keys, row.name()) {
				m.t.Errorf("%s: the edit believes the forged row %q of table %s: %+v", what, row.name(), table.name, row.content)
			}
		}
	}
}
