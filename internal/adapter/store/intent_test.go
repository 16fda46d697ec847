package store

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"muster/internal/fleet"
)

func TestIntentsAndTheirBaseAreKeptTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		d := put(t, s, deviceN(1))
		begun := fleet.Intent{
			Device: d.ID, Generation: 7, PlanDigest: "plan", Observed: "observed", Cause: fleet.CauseRestore,
			Writes: []byte(`[{"method":"PATCH","body":"plain-write"}]`), Detail: "why",
		}
		sending := []fleet.BaseEntry{
			{Key: "options.natEnabled", Base: []byte("true"), Written: []byte("true"), Templates: []int64{3, 1},
				State: fleet.BaseSending, Intended: []byte("false"), Run: "2026-11-20T10:11:12Z"},
			{Key: `folders."a.b".label`, Kind: fleet.BaseLeaf, Earlier: []byte{3, 0}, Version: 37, Templates: []int64{},
				Implied: true, ByAdmin: true, Revoked: true, Away: true, Sent: []byte{1, 0, 2}},
		}
		for field := range reflect.TypeFor[fleet.BaseEntry]().NumField() { // a field that is new must be kept, too
			if reflect.ValueOf(sending[0]).Field(field).IsZero() && reflect.ValueOf(sending[1]).Field(field).IsZero() {
				t.Errorf("this test says nothing about %s", reflect.TypeFor[fleet.BaseEntry]().Field(field).Name)
			}
		}
		begun.ID = must(s.BeginIntent(t.Context(), begun, sending))(t)
		if err := s.Close(); err != nil { // as after a crash: the outcome is not known
			t.Fatal(err)
		}

		s = open(t, options)
		intents := must(s.OpenIntents(t.Context()))(t)
		if len(intents) != 1 || intents[0].CreatedAt.IsZero() {
			t.Fatalf("got %+v", intents)
		}
		begun.CreatedAt = intents[0].CreatedAt
		if !reflect.DeepEqual(intents[0], begun) {
			t.Errorf("got %+v, want %+v", intents[0], begun)
		}
		if got := must(s.BaseEntries(t.Context(), d.ID))(t); !reflect.DeepEqual(got,
			[]fleet.BaseEntry{sending[1], sending[0]}) {
			t.Errorf("got %+v", got)
		}

		ours := []fleet.BaseEntry{{Key: "options.natEnabled", Base: []byte("true"), Written: []byte("false"),
			Templates: []int64{3}}}
		ending := fleet.Ending{Outcome: fleet.OutcomeApplied, Detail: "done", Base: ours}
		if err := s.FinishIntent(t.Context(), begun.ID, ending); err != nil {
			t.Fatal(err)
		}
		if got := must(s.BaseEntries(t.Context(), d.ID))(t); !reflect.DeepEqual(got, ours) {
			t.Errorf("got %+v, want %+v", got, ours)
		}
		if open := must(s.OpenIntents(t.Context()))(t); len(open) != 0 {
			t.Errorf("got %+v", open)
		}
		wantCode(t, s.FinishIntent(t.Context(), begun.ID, fleet.Ending{Outcome: fleet.OutcomeApplied}), fleet.CodeNotFound)
		wantCode(t, s.FinishIntent(t.Context(), begun.ID, fleet.Ending{}), fleet.CodeInvalid)

		again := must(s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID}, ours))(t)
		if got := must(s.BaseEntries(t.Context(), d.ID))(t); !reflect.DeepEqual(got, ours) || again <= begun.ID {
			t.Errorf("got %+v, intent %d", got, again)
		}
		// The last entry ends with the intent.
		if err := s.FinishIntent(t.Context(), again, fleet.Ending{Outcome: fleet.OutcomeApplied}); err != nil {
			t.Fatal(err)
		}
		if got := must(s.BaseEntries(t.Context(), d.ID))(t); got == nil || len(got) != 0 {
			t.Errorf("got %+v, want none", got)
		}
	})
}

// A device may have thousands of entries: only those that an intent is about are written.
func TestEntriesThatStayAreNotWrittenAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		entry := func(key, written string) fleet.BaseEntry {
			return fleet.BaseEntry{Key: key, Written: []byte(written), Templates: []int64{1}}
		}
		sealed := func(key string) (text []byte) {
			t.Helper()
			err := s.reads.QueryRowContext(t.Context(), `SELECT written FROM base_entries WHERE device_id = $1 AND key = $2`,
				string(d.ID), key).Scan(&text)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		if err := s.PutBaseEntries(t.Context(), d.ID, []fleet.BaseEntry{entry("changes", "1"), entry("goes", "2"),
			entry("stays", "3"), entry("stays too", "4")}); err != nil {
			t.Fatal(err)
		}
		changes, stays := sealed("changes"), sealed("stays")
		now := []fleet.BaseEntry{entry("changes", "5"), entry("comes", "6"), entry("stays", "3"), entry("stays too", "4")}
		if _, err := s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID}, now); err != nil {
			t.Fatal(err)
		}
		if got := must(s.BaseEntries(t.Context(), d.ID))(t); !reflect.DeepEqual(got, now) {
			t.Errorf("got %+v, want %+v", got, now)
		}
		if bytes.Equal(sealed("changes"), changes) || !bytes.Equal(sealed("stays"), stays) {
			t.Error("the entry that changed was not written, or the one that stays was")
		}
		_, err := s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID}, append(now, entry("stays", "7")))
		wantCode(t, err, fleet.CodeConflict)
	})
}

// The entries of many devices are read together, and none of a device or key that nobody asked for.
func TestEntriesOfSomeDevicesAreReadTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		var keys []BaseKey
		for i := range 3 {
			d := put(t, s, deviceN(i+1))
			written := []byte(fmt.Sprint(i))
			if err := s.PutBaseEntries(t.Context(), d.ID, []fleet.BaseEntry{{Key: "a", Written: written, Templates: []int64{1}},
				{Key: "b", Written: written, Templates: []int64{1}}}); err != nil {
				t.Fatal(err)
			}
			for missing := range maxBaseKeys { // More than one query reads.
				keys = append(keys, BaseKey{d.ID, fmt.Sprint("no", missing)})
			}
		}
		first, second := deviceN(1).ID, deviceN(2).ID
		keys = append(keys, BaseKey{first, "a"}, BaseKey{second, "b"})
		got := must(s.BaseEntriesAt(t.Context(), keys))(t)
		if len(got) != 2 || string(got[BaseKey{first, "a"}].Written) != "0" ||
			string(got[BaseKey{second, "b"}].Written) != "1" {
			t.Errorf("got %+v", got)
		}
		if got := must(s.BaseEntriesAt(t.Context(), nil))(t); len(got) != 0 {
			t.Errorf("for no key: got %+v", got)
		}
	})
}

func TestAnIntentWithABadBaseIsNotBegun(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		kept := []fleet.BaseEntry{{Key: "kept", Templates: []int64{1}}}
		if err := s.PutBaseEntries(t.Context(), d.ID, kept); err != nil {
			t.Fatal(err)
		}
		_, err := s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID}, []fleet.BaseEntry{{Key: "fine"}, {Key: "nul\x00"}})
		wantCode(t, err, fleet.CodeInvalid)
		_, err = s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID}, []fleet.BaseEntry{{Key: "twice"}, {Key: "twice"}})
		wantCode(t, err, fleet.CodeConflict)
		_, err = s.BeginIntent(t.Context(), fleet.Intent{Device: deviceN(2).ID}, nil)
		wantCode(t, err, fleet.CodeNotFound)
		if open := must(s.OpenIntents(t.Context()))(t); len(open) != 0 {
			t.Errorf("got %+v", open)
		}
		if got := must(s.BaseEntries(t.Context(), d.ID))(t); !reflect.DeepEqual(got, kept) {
			t.Errorf("got %+v, want %+v", got, kept)
		}
	})
}
