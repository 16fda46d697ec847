package guard_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"muster/api"
	muster "muster/client"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/guard"
	"muster/test/server"
	"muster/test/simulated"
)

// as is the server with a token of another role: templates are saved with that role then.
func as(t *testing.T, s *server.Server, role fleet.Role) *server.Server {
	t.Helper()
	token, err := s.Client.CreateToken(t.Context(), "a "+string(role), string(role))
	if err != nil {
		t.Fatal(err)
	}
	other := *s
	if other.Client, err = muster.New(s.URL, token.Secret); err != nil {
		t.Fatal(err)
	}
	return &other
}

// rootAtHome lets authors put folders anywhere in the home directory, as far as the other rules do.
func rootAtHome(t *testing.T, s *server.Server) {
	t.Helper()
	if _, err := s.Client.PutFolderRoots(t.Context(), []string{"~"}); err != nil {
		t.Fatal(err)
	}
}

// With an author's token alone one template made a new folder over the daemon's own home, shared with another
// device: its configuration with the API key and its private key arrived there. The other way round wrote into
// ~/.ssh.
func TestAnAuthorOwnsNoNode(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	victim, other := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{})
	s.Register(victim.ID, victim.APIKey, victim.Address, victim.Port, "victim")
	s.Register(other.ID, other.APIKey, other.Address, other.Port)
	s.WaitConfiguration(victim.ID, fleet.ConfigUnmanaged)
	s.WaitConfiguration(other.ID, fleet.ConfigUnmanaged)
	author := as(t, s, fleet.RoleAuthor)
	target := target{id: victim.ID, key: victim.APIKey, host: victim.Address, port: victim.Port}
	before := target.config(t)
	for name, path := range map[string]string{
		"the daemon's own home":       victim.Home,
		"its database":                victim.Home + "/index-v0.14.0.db",
		"the keys of the user":        "~/.ssh",
		"the autostart of the user":   "~/.config/autostart",
		"the jobs of the machine":     "/etc/cron.d",
		"a directory of the machine":  "/srv",
		"a neighbour of the home":     victim.Home + "/../x",
		"the home of every user":      victim.Home + "/..",
		"the home in other spelling":  victim.Home + "//./",
		"another folder of old files": "~/bin",
	} {
		text := fmt.Sprintf(`[{"id": "loot", "path": %q, "devices": [{"deviceID": %q}]}]`, path, other.ID)
		id := author.Template("merge", "folders", text, "victim")
		state := s.WaitState(victim.ID, "held: "+name, func(state api.DeviceState) bool {
			return state.Configuration == string(fleet.ConfigHeld) || state.Configuration == string(fleet.ConfigInSync)
		})
		if state.Configuration != string(fleet.ConfigHeld) {
			t.Errorf("%s: %s: %s", name, state.Configuration, state.Reason)
		}
		for _, change := range stconfig.Diff(before, target.config(t)) {
			t.Errorf("%s: %s changed at the daemon", name, change.Key)
		}
		consented(t, author, victim.ID, fleet.CodeForbidden)
		if err := s.Client.DeleteTemplate(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.WaitConfiguration(victim.ID, fleet.ConfigUnmanaged)
	}
}

// What authors are there for goes through without a question: a folder in the home directory, among registered
// devices.
func TestAnAuthorSharesFoldersInTheHomeDirectory(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	one, two := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{})
	for _, d := range []*daemon.Daemon{one, two} {
		s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
		s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	}
	as(t, s, fleet.RoleAuthor).Template("merge", "folders.team", fmt.Sprintf(
		`{"path": "~/Sync/team", "devices": [{"deviceID": %q}, {"deviceID": %q}]}`, one.ID, two.ID), "office")
	s.WaitConfiguration(one.ID, fleet.ConfigInSync)
	s.WaitConfiguration(two.ID, fleet.ConfigInSync)
}

// TestAnAuthorReachesNothingOutsideTheTable covers templates of an author on daemons of both versions and a real one:
// each is held, and nothing of it is sent.
func TestAnAuthorReachesNothingOutsideTheTable(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(
		t,
		stsim.Options{Count: 2, Network: 84, Versions: []stsim.Version{stsim.V2, stsim.V1}, Folders: 2,
			Quiet: true},
	)
	s := server.Start(t, server.Options{})
	real := daemon.Start(t, daemon.Options{})
	real.AddFolder("other")
	author := as(t, s, fleet.RoleAuthor)
	var work sync.WaitGroup
	try := func(tag string, d target, picked func(n int) bool) {
		l := newLane(t, s, tag, d)
		l.s = author
		cases, err := guard.AuthorCases(guard.Scene{Own: d.id, Host: d.host, Port: strconv.Itoa(d.port), Doc: l.before})
		if err != nil {
			t.Error(err)
			return
		}
		for n, c := range cases {
			if picked(n) && !t.Failed() {
				l.try(c)
			}
		}
	}
	for i, d := range farm.Daemons() {
		work.Go(func() {
			try(fmt.Sprint("simulated-", i), target{id: d.ID(), key: d.APIKey(), host: d.Host(), port: d.Port(),
				writes: func() int { return d.Counters().Writes }}, func(n int) bool { return soaking() || n%5 == i })
		})
	}
	work.Go(func() {
		try("real", target{id: real.ID, key: real.APIKey, host: real.Address, port: real.Port},
			func(n int) bool { return soaking() || n%11 == 0 })
	})
	work.Wait()
}

// TestAnAuthorTakesNoPatternsOffAPersonsFolder covers a person's folder that is shared with a stranger: without its
// patterns the stranger got what they kept back. An admin's key lets the author do it.
func TestAnAuthorTakesNoPatternsOffAPersonsFolder(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	d.AddFolder("photos")
	d.Post("/rest/db/ignores?folder=photos", map[string]any{"ignore": []string{"/private"}})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	as(t, s, fleet.RoleAuthor).Template("set", "ignores.photos", `[]`, "office")
	s.WaitReason(d.ID, string(fleet.ConfigHeld), "muster author-keys add ignores.photos")
	if ignores := string(d.Get("/rest/db/ignores?folder=photos")); !strings.Contains(ignores, "/private") {
		t.Errorf("the daemon has the patterns %s", ignores)
	}
	if _, err := s.Client.PutTagAuthorKeys(t.Context(), "office", []string{"ignores.photos"}); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
}

// TestWhatAnAuthorLetsGoIsHeld covers an admin's template that an author deletes: what returns is the author's doing.
func TestWhatAnAuthorLetsGoIsHeld(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	for role, want := range map[fleet.Role]fleet.Configuration{
		fleet.RoleAdmin: fleet.ConfigUnmanaged, fleet.RoleAuthor: fleet.ConfigHeld,
	} {
		id := s.Template("set", "options.maxFolderConcurrency", "3", "office")
		s.WaitConfiguration(d.ID, fleet.ConfigInSync)
		if err := as(t, s, role).Client.DeleteTemplate(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.WaitConfiguration(d.ID, want)
		if want == fleet.ConfigHeld {
			consented(t, s, d.ID, "")
			s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
		}
	}
}

// consented tries to let out everything that is held.
func consented(t *testing.T, s *server.Server, id fleet.DeviceID, want fleet.Code) {
	t.Helper()
	made, err := s.Client.DevicePlan(t.Context(), string(id))
	if err != nil {
		t.Fatal(err)
	}
	answer := api.ApplyPlan{Digest: &made.Digest}
	for _, change := range made.Changes {
		if change.Class == string(plan.Held) {
			answer.Consent = append(answer.Consent, change.Key)
		}
	}
	if _, err := s.Client.ApplyPlan(t.Context(), string(id), answer); fleet.CodeOf(err) != want {
		t.Errorf("consent to %q gives %v, want %q", answer.Consent, err, want)
	}
}

// A template that is only tried is judged as what its author would save, and a stored one as what was saved.
func TestEvaluateJudgesByWhoAsks(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	author := as(t, s, fleet.RoleAuthor)
	op, key, text := "merge", "folders.new", `{"path": "/srv/new"}`
	warns := func(who *server.Server) bool {
		made, err := who.Client.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{Op: &op, Key: &key,
			Template: &text}, "")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(made.Warnings, "\n"), "muster folder-roots add")
	}
	if !warns(author) || warns(s) {
		t.Errorf("an author is warned: %t, an admin: %t", warns(author), warns(s))
	}
	id := author.Template(op, key, text)
	made, err := s.Client.EvaluateTemplate(t.Context(), id, "")
	if err != nil || !strings.Contains(strings.Join(made.Warnings, "\n"), "muster folder-roots add") {
		t.Errorf("an author's template, evaluated by an admin: got %q, %v", made.Warnings, err)
	}
}

// An admin consents once, or adds a root; the reason of the hold names the command.
func TestAnAdminLetsAnAuthorsFolderOut(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	author := as(t, s, fleet.RoleAuthor)
	outside := t.TempDir()
	author.Template("merge", "folders.one", fmt.Sprintf(`{"path": %q}`, outside+"/one"), "office")
	s.WaitReason(d.ID, string(fleet.ConfigHeld), "muster folder-roots add")
	consented(t, author, d.ID, fleet.CodeForbidden)
	consented(t, s, d.ID, "")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	author.Template("merge", "folders.two", fmt.Sprintf(`{"path": %q}`, outside+"/two"), "office")
	s.WaitConfiguration(d.ID, fleet.ConfigHeld)
	if _, err := s.Client.PutTagFolderRoots(t.Context(), "office", []string{outside}); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	entries, err := s.Client.Audit(t.Context(), muster.AuditSearch{})
	if err != nil || !slices.ContainsFunc(entries,
		func(e api.AuditEntry) bool { return e.What == "tag.folderRoots" && e.Subject == "office" }) {
		t.Errorf("the audit does not have it: %v", err)
	}
}
