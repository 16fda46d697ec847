package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// fullBase has a value in every column.
func fullBase(key string) fleet.BaseEntry {
	return fleet.BaseEntry{Key: key, Kind: fleet.BaseLeaf, State: fleet.BaseOurs, Base: []byte(`"base"`),
		Written: []byte(`"written"`), Intended: []byte(`"intended"`), Earlier: []byte("earlier"), Sent: []byte("sent"),
		Version: 37, Templates: []int64{1, 2}, Implied: true, Revoked: true, Away: true, ByAdmin: true, Run: "run"}
}

// Another program could make an author's template free to change a person's folder, by a row that says that Muster made
// the folder, or have Muster write another value back, by a row of earlier.
func TestABaseEntryThatMusterDidNotWriteIsNotBelieved(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		id := deviceN(1).ID
		key := BaseKey{Device: id, Key: "folders.music"}
		m.exec(`CREATE TABLE earlier AS SELECT * FROM base_entries WHERE key = 'options.0'`)
		changed := fullBase("options.0")
		changed.Base = []byte(`"another"`)
		entries := append(must(m.BaseEntries(t.Context(), id))(t)[:1], changed)
		if err := m.PutBaseEntries(t.Context(), id, entries); err != nil {
			t.Fatal(err)
		}
		m.wantIntact()
		m.keep("base_entries")
		for what, change := range map[string]string{
			"a folder that a person made": `INSERT INTO base_entries (device_id, key, kind, version, templates, state, run, implied,
				by_admin, mark) SELECT device_id, 'folders.persons', kind, version, templates, state, run, implied, by_admin, mark
				FROM kept_base_entries WHERE key = 'folders.music' AND device_id = '` + string(id) + `'`,
			"no value to go back to": `UPDATE base_entries SET base = NULL WHERE key = 'options.0'`,
			"another template":       `UPDATE base_entries SET templates = '[7]' WHERE key = 'folders.music'`,
			"an admin's member":      `UPDATE base_entries SET by_admin = NOT by_admin WHERE key = 'folders.music'`,
			"another version's base": `UPDATE base_entries SET base = earlier.base FROM earlier WHERE base_entries.key = 'options.0'`,
		} {
			m.meddle(func() { m.exec(change) }, func() {
				if got, err := m.BaseEntries(t.Context(), id); fleet.CodeOf(err) != fleet.CodeConflict {
					t.Errorf("%s: got %v, %v", what, got, err)
				}
				at := must(m.BaseEntriesAt(t.Context(), []BaseKey{key}))(t)
				if _, there := at[key]; there != (slices.Contains([]string{"a folder that a person made", "no value to go back to",
					"another version's base"}, what)) {
					t.Errorf("%s: at the key is %v", what, at)
				}
				m.restart(options)
				if got, err := m.BaseEntries(t.Context(), id); fleet.CodeOf(err) != fleet.CodeConflict || m.Tampering() == nil {
					t.Errorf("%s, after a start: got %v, %v, and the state says %+v", what, got, err, m.Tampering())
				}
			})
		}
		m.meddle(func() {
			m.exec(`DELETE FROM base_entries WHERE key = 'options.0'`)
			m.exec(`INSERT INTO base_entries SELECT * FROM earlier`)
		}, func() {
			m.restart(options)
			m.wantMode("a row that was put back", fleet.ModeObserve)
		})
		m.restart(options)
		m.wantMode("as it was", fleet.ModeOn)
		m.wantIntact()
	})
}

// A start opened what Muster remembers of every device before it served. It adds up the marks.
func TestAStartOpensNoBaseEntries(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.restart(options)
		statements := m.statements()
		for _, table := range markedTables {
			opened := slices.Contains(statements, `SELECT `+table.columns("")+` FROM `+table.name+table.where(""))
			keys := strings.Join(table.key, ", ")
			added := slices.Contains(statements, `SELECT `+keys+`, mark FROM `+table.name+table.where(""))
			onlyKeys := len(table.content) == 0 // Both statements are the same.
			if opened == (table == baseRows) || added != (table == baseRows || onlyKeys) {
				t.Errorf("%s: opened is %v, added up is %v", table.name, opened, added)
			}
		}
	})
}

// An author could put a folder inside an earlier one, links included, once somebody had removed its path.
func TestFolderPathsThatAnotherProgramRemovedKeepAuthorsAway(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		id := deviceN(1).ID
		m.exec(`INSERT INTO folder_paths (device_id, path) VALUES ('` + string(id) + `', '/added')`)
		m.restart(options)
		if paths := must(m.FolderPaths(t.Context(), id))(t); !slices.Equal(paths,
			[]string{"/added", "~/Sync/music", "~/Sync/photos"}) {
			t.Errorf("got %v", paths)
		}
		m.exec(`DELETE FROM folder_paths WHERE path = '~/Sync/music'`)
		m.restart(options)
		if paths, err := m.FolderPaths(t.Context(), id); err == nil {
			t.Errorf("the paths that are left count: %v", paths)
		}
		must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		if paths, err := m.FolderPaths(t.Context(), id); len(paths) != 2 || errors.Join(err) != nil {
			t.Errorf("once it is accepted got %v, %v", paths, err)
		}
		m.restart(options)
		m.wantResumed("once it is accepted")
	})
}

// Of a device that its agent had proved, another program could have the API key sent to an address without a pin.
func TestASightingThatAnotherProgramWroteSendsNoKeyToAnAddress(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		see := func(n int, by string) {
			t.Helper()
			observe(t, m.Store, fleet.Observation{Device: deviceN(n).ID, LastSeen: seenAt, FoundBy: by})
		}
		want := func(what string, first, second string) {
			t.Helper()
			known := must(m.Known(t.Context()))(t)
			if a, b := known[deviceN(1).ID].FoundBy, known[deviceN(2).ID].FoundBy; a != first || b != second {
				t.Errorf("%s: the devices were found by %q and %q, want %q and %q", what, a, b, first, second)
			}
		}
		see(1, fleet.FoundByAgent)
		see(2, "discovery")
		see(2, "")
		m.wantIntact()
		want("as Muster wrote it", fleet.FoundByAgent, "discovery")
		m.keep("sightings")
		m.meddle(func() { m.exec(`UPDATE sightings SET found_by = 'x'`) }, func() {
			want("changed", fleet.FoundByAgent, fleet.FoundByAgent)
		})
		m.meddle(func() { m.exec(`DELETE FROM sightings WHERE found_by = 'agent'`) }, func() {
			m.restart(options)
			want("deleted", fleet.FoundByAgent, fleet.FoundByAgent)
		})
		m.restart(options)
		see(1, "discovery")
		m.wantIntact()
		want("found in another way since", "discovery", "discovery")
	})
}
