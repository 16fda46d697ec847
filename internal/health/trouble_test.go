package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

var (
	sinceOnline = time.Unix(1_000_000, 0)
	whole       = []fleet.ProblemKind{fleet.ProblemUnreachable, fleet.ProblemFailed, fleet.ProblemHeld,
		fleet.ProblemContended, fleet.ProblemUnstable}
)

// patient is a device with one folder, "photos", as far as troubles look at it.
type patient struct {
	snapshot *fleet.Snapshot
	state    fleet.State
}

func healthy() *patient {
	return &patient{
		snapshot: &fleet.Snapshot{
			Device: "A", Connection: fleet.Online, Since: sinceOnline, Folders: []fleet.FolderLabel{{Folder: "photos"}},
			Summaries: map[string]fleet.FolderSummary{"photos": {Folder: "photos", State: "idle",
				UpdatedAt: sinceOnline.Add(time.Second)}},
		},
		state: fleet.State{Configuration: fleet.ConfigInSync},
	}
}

func (p *patient) summary(change func(*fleet.FolderSummary)) {
	summary := p.snapshot.Summaries["photos"]
	change(&summary)
	p.snapshot.Summaries["photos"] = summary
}

func (p *patient) report(t *testing.T) fleet.ProblemReport {
	t.Helper()
	h := New()
	h.conditions["A"] = condition{State: p.state}
	r := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{"A": {Device: fleet.Device{ID: "A",
		Label: "nas"}}}}
	return h.Report(r, func(fleet.DeviceID) Facts { return Facts{Registry: r, Snapshot: p.snapshot} })
}

func TestWhatIsATrouble(t *testing.T) {
	offline := func(p *patient) {
		p.snapshot.Connection, p.snapshot.NextTry, p.snapshot.Reason = fleet.Unreachable, time.Now(), "nothing listens there"
		p.state.Configuration = fleet.ConfigUnknown
	}
	configuration := []string{"failed", "held", "contended", "unstable"}
	for name, c := range map[string]struct {
		change  func(*patient)
		want    []string // problems
		unknown []string // kinds of which nothing can be said
	}{
		"nothing":     {change: func(*patient) {}},
		"unreachable": {offline, []string{"unreachable: nothing listens there"}, append(configuration, "outOfSync photos")},
		"key refused": {func(p *patient) { offline(p); p.snapshot.Connection = fleet.KeyRefused },
			[]string{"unreachable: nothing listens there"}, append(configuration, "outOfSync photos")},
		"access lost": {func(p *patient) {
			offline(p)
			p.state = fleet.State{Configuration: fleet.ConfigFailed, Reason: "locked out"}
		},
			[]string{"unreachable: nothing listens there", "failed: nothing listens there; locked out"},
			[]string{"outOfSync photos"}},
		"not tried yet": {func(p *patient) { offline(p); p.snapshot.NextTry = time.Time{} }, nil,
			append(configuration, "unreachable", "outOfSync photos")},
		"never seen": {func(p *patient) {
			p.snapshot.Connection, p.state.Configuration = fleet.NeverSeen,
				fleet.ConfigUnknown
		}, nil,
			append(configuration, "unreachable", "outOfSync photos")},
		"not watched yet": {func(p *patient) { p.snapshot = nil }, nil,
			append(configuration, "unreachable", "outOfSync photos")},
		"held": {func(p *patient) { p.state = fleet.State{Configuration: fleet.ConfigHeld, Reason: "waits"} },
			[]string{"held: waits"}, nil},
		"contended": {func(p *patient) {
			p.state = fleet.State{Configuration: fleet.ConfigContended,
				Reason: "set back"}
		}, []string{"contended: set back"}, nil},
		"unstable": {func(p *patient) {
			p.state = fleet.State{Configuration: fleet.ConfigUnstable,
				Reason: "A, B, A"}
		}, []string{"unstable: A, B, A"}, nil},
		"applying":      {func(p *patient) { p.state.Configuration = fleet.ConfigApplying }, nil, configuration},
		"not looked at": {func(p *patient) { p.state.Configuration = fleet.ConfigUnknown }, nil, configuration},
		"pending":       {func(p *patient) { p.state.Configuration = fleet.ConfigPending }, nil, nil},
		"files are missing": {func(p *patient) {
			p.summary(func(s *fleet.FolderSummary) {
				s.NeedFiles, s.NeedBytes = 3,
					7
			})
		},
			[]string{"outOfSync photos: 3 items with 7 bytes are missing"}, nil},
		"only deletions are missing": {func(p *patient) { p.summary(func(s *fleet.FolderSummary) { s.NeedDeletes = 1 }) },
			[]string{"outOfSync photos: 1 items with 0 bytes are missing"}, nil},
		"bytes are missing": {func(p *patient) { p.summary(func(s *fleet.FolderSummary) { s.NeedBytes = 9 }) },
			[]string{"outOfSync photos: 9 bytes are missing"}, nil},
		"folder in error": {func(p *patient) {
			p.summary(func(s *fleet.FolderSummary) { s.State, s.Error = "error", "path missing" })
		}, []string{"outOfSync photos: the folder is in error: path missing"}, nil},
		"items that fail": {func(p *patient) {
			p.summary(func(s *fleet.FolderSummary) {
				s.NeedFiles, s.Error = 1,
					"no space"
			})
		}, []string{"outOfSync photos: 1 items are missing: no space"}, nil},
		"summary from before": {func(p *patient) {
			p.summary(func(s *fleet.FolderSummary) { s.NeedFiles, s.UpdatedAt = 1, sinceOnline.Add(-time.Hour) })
		}, nil, []string{"outOfSync photos"}},
		"summary not read":  {func(p *patient) { p.snapshot.Summaries = nil }, nil, []string{"outOfSync photos"}},
		"folder taken away": {func(p *patient) { p.snapshot.Folders = nil }, nil, nil},
		"a folder that lies": {func(p *patient) {
			long := strings.Repeat("x", maxToldFolder+1)
			p.snapshot.Folders = []fleet.FolderLabel{{Folder: long}, {Folder: "a\x00"}}
			p.snapshot.Summaries = map[string]fleet.FolderSummary{long: {NeedFiles: 1}, "a\x00": {NeedFiles: 1}}
		}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy()
			c.change(p)
			report := p.report(t)
			var got []string
			for _, condition := range report.Conditions {
				if condition.Device != "A" || condition.Label != "nas" || report.Unknown(condition.ProblemKey) {
					t.Errorf("got %+v, unknown %t", condition, report.Unknown(condition.ProblemKey))
				}
				got = append(got, fmt.Sprintf("%s: %s", strings.TrimSpace(fmt.Sprint(condition.Kind, " ", condition.Folder)),
					condition.Reason))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			var unknown []string
			for _, kind := range whole {
				if report.Unknown(fleet.ProblemKey{Device: "A", Kind: kind}) {
					unknown = append(unknown, string(kind))
				}
			}
			if report.Unknown(fleet.ProblemKey{Device: "A", Folder: "photos", Kind: fleet.ProblemOutOfSync}) {
				unknown = append(unknown, "outOfSync photos")
			}
			slices.Sort(unknown)
			slices.Sort(c.unknown)
			if !slices.Equal(unknown, c.unknown) {
				t.Errorf("unknown are %q, want %q", unknown, c.unknown)
			}
			if report.Unknown(fleet.ProblemKey{Device: "deleted", Kind: fleet.ProblemUnreachable}) {
				t.Error("the problem of a deleted device is never over")
			}
		})
	}
}
