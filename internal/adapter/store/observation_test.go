package store

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

var seenAt = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

// fullObservation says everything about a device; variant makes another configuration.
func fullObservation(id fleet.DeviceID, variant string) fleet.Observation {
	return fleet.Observation{
		Device: id, LastSeen: seenAt, FirstUse: true,
		Proven: &fleet.Certificate{Fingerprint: "sha256:" + variant, NotBefore: seenAt.AddDate(-1, 0, 0),
			NotAfter: seenAt.AddDate(1, 0, 0)},
		Status: &fleet.Status{
			MyID: id, Alloc: 1, CPUPercent: 2.5, DiscoveryEnabled: true, DiscoveryMethods: 3, GoRoutines: 4, PathSeparator: "/",
			Sys:   5,
			Tilde: "/home/a\x00\"b", Uptime: 6, StartTime: "then", AddressFixed: true, CreatedAt: seenAt, UpdatedAt: seenAt,
		},
		Version: &fleet.Version{
			Device: id, Arch: "arm64", Codename: "Hafnium", LongVersion: "long", OS: "linux", Version: "v2.1.3",
			CreatedAt: seenAt, UpdatedAt: seenAt,
		},
		Summaries: []fleet.FolderSummary{fullSummary(id, "music"), fullSummary(id, "photos")},
		Config: &fleet.ObservedConfig{
			JSON:   []byte(`{"variant":"` + variant + `","gui":{"apiKey":"plain-key-of-the-daemon"}}`),
			Digest: "digest-" + variant, SeenAt: seenAt, Cause: "daemon",
			Folders: []fleet.FolderLabel{{Folder: "music", Label: "Music"}, {Folder: "photos", Label: "Photos"}},
		},
	}
}

// fullSummary has another number in every field, so that a field that lands in another's place is seen.
func fullSummary(id fleet.DeviceID, folder string) fleet.FolderSummary {
	s := fleet.FolderSummary{Device: id, Folder: folder, State: "idle", Error: "none", IgnorePatterns: true,
		CreatedAt: seenAt, UpdatedAt: seenAt}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Int64 {
			f.SetInt(int64(i+1) << 40)
		}
	}
	return s
}

func observe(tb testing.TB, s *Store, observations ...fleet.Observation) {
	tb.Helper()
	if err := s.SaveObservations(tb.Context(), observations); err != nil {
		tb.Fatal(err)
	}
}

func TestWhatWasObservedIsKnownAfterARestart(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		d, silent := put(t, s, deviceN(1)), put(t, s, deviceN(2))
		o := fullObservation(d.ID, "one")
		observe(t, s, o, fullObservation(deviceN(99).ID, "of a device that is gone"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		s = open(t, options)
		summaries := map[string]fleet.FolderSummary{}
		for _, summary := range o.Summaries {
			summaries[summary.Folder] = summary
		}
		want := fleet.Snapshot{
			Device: d.ID, Status: o.Status, Version: o.Version, Summaries: summaries, Folders: o.Config.Folders,
			Digest: o.Config.Digest, LastSeen: seenAt,
			Proven: *o.Proven,
		}
		known := must(s.Known(t.Context()))(t)
		if got := known[d.ID]; !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		nothing := fleet.Snapshot{Device: silent.ID, Summaries: map[string]fleet.FolderSummary{}}
		if got := known[silent.ID]; !reflect.DeepEqual(got, nothing) || len(known) != 2 {
			t.Errorf("got %+v in %d", got, len(known))
		}
		if got := must(s.Status(t.Context(), d.ID))(t); got != *o.Status {
			t.Errorf("got %+v", got)
		}
		if got := must(s.Version(t.Context(), d.ID))(t); !reflect.DeepEqual(got, *o.Version) {
			t.Errorf("got %+v", got)
		}
		config := *o.Config
		config.Folders = nil // they are in the document
		if got := must(s.ObservedConfig(t.Context(), d.ID))(t); !reflect.DeepEqual(got, config) {
			t.Errorf("got %+v, want %+v", got, config)
		}
		if got := must(s.DeviceSettings(t.Context(), d.ID))(t); got.Pin != o.Proven.Fingerprint ||
			got.PinOrigin != fleet.PinFirstUse {
			t.Errorf("got %+v", got)
		}
		for _, id := range []fleet.DeviceID{silent.ID, deviceN(99).ID} {
			_, err := s.Status(t.Context(), id)
			wantCode(t, err, fleet.CodeNotFound)
			_, err = s.ObservedConfig(t.Context(), id)
			wantCode(t, err, fleet.CodeNotFound)
		}
	})
}

func TestLaterObservationsReplaceWhatTheyName(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		observe(t, s, fullObservation(d.ID, "one"))
		later := seenAt.Add(time.Minute)
		music := fullSummary(d.ID, "music")
		music.NeedFiles, music.CreatedAt, music.UpdatedAt = 0, later, later
		observe(t, s, fleet.Observation{
			Device: d.ID, Status: &fleet.Status{MyID: d.ID, Uptime: 99, CreatedAt: later, UpdatedAt: later},
			Summaries: []fleet.FolderSummary{music},
		})

		status := must(s.Status(t.Context(), d.ID))(t)
		if want := (fleet.Status{MyID: d.ID, Uptime: 99, CreatedAt: seenAt, UpdatedAt: later}); status != want {
			t.Errorf("got %+v, want %+v", status, want)
		}
		music.CreatedAt = seenAt
		if got := must(s.FolderSummaries(t.Context(), "music"))(t); !slices.Equal(got, []fleet.FolderSummary{music}) {
			t.Errorf("got %+v, want %+v", got, music)
		}
		if got := must(s.FolderSummaries(t.Context(), "photos"))(t); !slices.Equal(got,
			[]fleet.FolderSummary{fullSummary(d.ID, "photos")}) {
			t.Errorf("got %+v", got)
		}
		must(s.Version(t.Context(), d.ID))(t)
	})
}

func TestFoldersComeFromCurrentConfigurations(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		labels := map[int][]fleet.FolderLabel{
			1: {{Folder: "a", Label: "Zoo"}, {Folder: "b", Label: "B"}},
			2: {{Folder: "a", Label: "Zoo"}, {Folder: "c", Label: "y"}},
			3: {{Folder: "a", Label: "Ape"}, {Folder: "c", Label: "x"}},
		}
		for n, folders := range labels {
			d := put(t, s, deviceN(n))
			o := fullObservation(d.ID, fmt.Sprint(n))
			o.Config.Folders, o.Summaries = folders, nil
			for _, f := range folders {
				o.Summaries = append(o.Summaries, fullSummary(d.ID, f.Folder))
			}
			observe(t, s, o)
		}
		want := []fleet.FolderLabel{{Folder: "a", Label: "Zoo"}, {Folder: "b", Label: "B"}, {Folder: "c", Label: "x"}}
		if got := must(s.Folders(t.Context()))(t); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		summaries := must(s.FolderSummaries(t.Context(), "a"))(t)
		if len(summaries) != 3 || !slices.IsSortedFunc(summaries, func(a,
			b fleet.FolderSummary) int {
			return bytes.Compare([]byte(a.Device), []byte(b.Device))
		}) {
			t.Errorf("got %+v", summaries)
		}

		// A folder leaves with the configuration; a late summary of it does not bring it back.
		o := fullObservation(deviceN(1).ID, "without b")
		o.Config.Folders, o.Summaries = labels[1][:1], nil
		observe(t, s, o)
		observe(t, s, fleet.Observation{Device: o.Device, Summaries: []fleet.FolderSummary{fullSummary(o.Device, "b")}})
		_, err := s.FolderSummaries(t.Context(), "b")
		wantCode(t, err, fleet.CodeNotFound)
		if got := must(s.Folders(t.Context()))(t); !slices.Equal(got, []fleet.FolderLabel{want[0], want[2]}) {
			t.Errorf("got %v", got)
		}
		for _, odd := range []string{"", "x\x00y", "\xff"} {
			_, err := s.FolderSummaries(t.Context(), odd)
			wantCode(t, err, fleet.CodeNotFound)
		}
	})
}

func TestHostileFoldersAreLeftOut(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		o := fullObservation(d.ID, "one")
		o.Config.Folders, o.Summaries = nil, nil
		odd := []string{"", "nul\x00", "\xff\xfe", string(bytes.Repeat([]byte("x"), 10_000)), "good", "good", "a/b %+?#ü\n"}
		for _, folder := range odd {
			o.Config.Folders = append(o.Config.Folders, fleet.FolderLabel{Folder: folder, Label: "label\x00\xff"})
			o.Summaries = append(o.Summaries, fullSummary(d.ID, folder))
		}
		observe(t, s, o)
		want := []fleet.FolderLabel{{Folder: "a/b %+?#ü\n", Label: "label\uFFFD\uFFFD"},
			{Folder: "good", Label: "label\uFFFD\uFFFD"}}
		if got := must(s.Folders(t.Context()))(t); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestRevisionsAreNumberedAndTheirBodiesKeptOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		for _, variant := range []string{"A", "A", "B", "B", "A"} {
			observe(t, s, fullObservation(d.ID, variant))
		}
		explain(t, s, fleet.Intent{Device: d.ID}, "digest-B") // not the newest: stays as it is
		explain(t, s, fleet.Intent{Device: d.ID}, "digest-A")
		var got []string
		for _, r := range must(s.Revisions(t.Context(), d.ID))(t) {
			got = append(got, fmt.Sprint(r.Number, r.Digest, r.Cause))
		}
		if want := []string{"3digest-Atemplate", "2digest-Bdaemon", "1digest-Adaemon"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if bodies := rowsOf(t, s, "revision_bodies"); len(bodies) != 2 {
			t.Errorf("got %d bodies", len(bodies))
		}
		for number, variant := range map[int64]string{1: "A", 2: "B", 3: "A"} {
			if r := must(s.Revision(t.Context(), d.ID, number))(t); !bytes.Equal(r.JSON,
				fullObservation(d.ID, variant).Config.JSON) {
				t.Errorf("revision %d is %s", number, r.JSON)
			}
		}
		_, err := s.Revision(t.Context(), d.ID, 4)
		wantCode(t, err, fleet.CodeNotFound)
	})
}

// What a watcher saw is written behind: by then a person may have pinned another certificate, or forgotten this one.
func TestWhatAWatcherSawReplacesNoPin(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		see := func(fingerprint string, firstUse bool, want fleet.DeviceSettings) {
			t.Helper()
			observe(t, s, fleet.Observation{Device: d.ID, FirstUse: firstUse,
				Proven: &fleet.Certificate{Fingerprint: fingerprint, NotBefore: seenAt, NotAfter: seenAt}})
			want.Mode = fleet.ModeOn
			if got := must(s.DeviceSettings(t.Context(), d.ID))(t); got != want {
				t.Errorf("after %s, first use %t: got %+v, want %+v", fingerprint, firstUse, got, want)
			}
		}
		see("sha256:aa", false, fleet.DeviceSettings{})
		see("sha256:aa", true, fleet.DeviceSettings{Pin: "sha256:aa", PinOrigin: fleet.PinFirstUse})
		see("sha256:bb", true, fleet.DeviceSettings{Pin: "sha256:aa", PinOrigin: fleet.PinFirstUse})
		given := fleet.DeviceSettings{Pin: "sha256:bb", PinOrigin: fleet.PinGiven}
		must(s.TrustDevice(t.Context(), d.ID, "sha256:bb"))(t)
		see("sha256:aa", true, given)
		see("sha256:bb", false, given)
		if got := must(s.Known(t.Context()))(t)[d.ID].Proven; got.Fingerprint != "sha256:bb" || !got.NotAfter.Equal(seenAt) {
			t.Errorf("last proven by %+v", got)
		}
		moved := d
		moved.APIAddress, moved.APIPort, moved.Label = "elsewhere.example", 1234, "moved"
		put(t, s, moved)
		see("sha256:cc", true, given)
		forgotten := given.WithPin("")
		forgotten.Mode = fleet.ModeOn
		must(s.PutDeviceSettings(t.Context(), d.ID, forgotten, nil))(t)
		see("sha256:bb", false, forgotten)
		registered := must(s.Registry(t.Context()))(t).Devices[d.ID]
		if registered.Settings != forgotten {
			t.Errorf("registered with %+v", registered.Settings)
		}
		if _, _, err := s.PutPinnedDevice(t.Context(), moved, "sha256:dd", nil); err != nil {
			t.Fatal(err)
		}
		see("sha256:bb", true, fleet.DeviceSettings{Pin: "sha256:dd", PinOrigin: fleet.PinGiven})
	})
}
