package writer_test

import (
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// Who tries a template about ignore patterns, by evaluate or as a what-if, sees what the daemon has, though no
// template has named the folder before; without the daemon they are unknown, and it is said why.
func TestIgnorePatternsAreReadWhenAPersonAsks(t *testing.T) {
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{})
	d.AddFolder("photos")
	d.Post("/rest/db/ignores?folder=photos", map[string][]string{"ignore": {"old"}})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "t")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	wait.Until(t, func() string {
		if all, err := s.Client.FolderSummaries(t.Context(), "photos"); err != nil || len(all) == 0 {
			return "the folder is not mirrored"
		}
		return ""
	})

	made, err := s.Client.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{
		Op: new("append"), Key: new("ignores.photos"), Template: new(`["*.tmp"]`)}, string(d.ID))
	if err != nil || len(made.Warnings) > 0 || len(made.Changes) != 1 ||
		string(made.Changes[0].From) != `["old"]` || string(made.Changes[0].To) != `["old","*.tmp"]` {
		t.Errorf("evaluate: %+v, %v", made, err)
	}
	whatIf := api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{{
		Op: new("set"), Key: new("ignores.*"), Template: new(`["*.tmp"]`), Tags: []string{"t"}}}}}
	plan, err := s.Client.WhatIf(t.Context(), whatIf)
	if err != nil || len(plan.Devices) != 1 || len(plan.Devices[0].Changes) != 1 {
		t.Fatalf("what-if: %+v, %v", plan, err)
	}
	if c := plan.Devices[0].Changes[0]; c.Key != "ignores.photos" || c.Class != "free" || string(c.From) != `["old"]` {
		t.Errorf("what-if: %+v", c)
	}
	var patterns struct{ Ignore []string }
	if d.GetJSON("/rest/db/ignores?folder=photos", &patterns); !slices.Equal(patterns.Ignore, []string{"old"}) {
		t.Errorf("asking changed the patterns: %q", patterns.Ignore)
	}

	d.Stop()
	s.WaitConnection(d.ID, fleet.Unreachable)
	plan, err = s.Client.WhatIf(t.Context(), whatIf)
	if err != nil || len(plan.Devices) != 1 || len(plan.Devices[0].Changes) != 1 {
		t.Fatalf("what-if without the daemon: %+v, %v", plan, err)
	}
	if c := plan.Devices[0].Changes[0]; c.Class != "skipped" || !strings.Contains(c.Reason, "the device is not online") {
		t.Errorf("what-if without the daemon: %+v", c)
	}
	made, err = s.Client.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{
		Op: new("append"), Key: new("ignores.photos"), Template: new(`["*.tmp"]`)}, string(d.ID))
	if err != nil || !slices.ContainsFunc(made.Warnings,
		func(w string) bool { return strings.Contains(w, "the device is not online") }) {
		t.Errorf("evaluate without the daemon: %+v, %v", made, err)
	}
}
