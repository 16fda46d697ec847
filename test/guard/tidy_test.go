package guard_test

import (
	"fmt"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/guard"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// What a daemon would drop without a word is not asked of it, but said; the rest converges, and nothing is sent again.
func TestWhatADaemonWouldDropIsLeftOut(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(
		t,
		stsim.Options{Count: 2, Network: 84, Versions: []stsim.Version{stsim.V2, stsim.V1}, Folders: 2,
			Quiet: true},
	)
	s := server.Start(t, server.Options{})
	for i, d := range farm.Daemons() {
		l := newLane(t, s, fmt.Sprint("tidy-", i), target{id: d.ID(), key: d.APIKey(), host: d.Host(), port: d.Port(),
			writes: func() int { return d.Counters().Writes }})
		peer := string(guard.Peer)
		s.Template("append", "remoteIgnoredDevices", `[{"deviceID": "`+peer+`"}]`, l.tag)
		s.Template("set", "devices."+peer+".untrusted", "true", l.tag)
		s.Template("merge", "folders.fresh", `{"path": "~/fresh", "devices": [{"deviceID": "`+peer+`"}]}`, l.tag)
		l.waitLeftOut("folders.fresh.path", "~/fresh")
		doc, written := l.daemon.config(t), l.written()
		if fresh := stconfig.Lookup(doc, keyOf(t, "folders.fresh")); fresh.Get("devices").Len() != 1 {
			t.Errorf("%s: fresh is shared with %s", d.Version(), fresh.Get("devices").JSON())
		}
		if password := stconfig.Lookup(doc,
			keyOf(t, "folders."+guard.Folder+".devices."+peer+".encryptionPassword")).Str(); password != "old" {
			t.Errorf("%s: the encrypted share has the password %q", d.Version(), password)
		}
		if n := doc.Get("remoteIgnoredDevices").Len(); n != 0 {
			t.Errorf("%s: ignores %d devices", d.Version(), n)
		}
		s.Template("set", "options.maxSendKbps", "4711", l.tag)
		l.waitLeftOut("options.maxSendKbps", "4711")
		if sent := l.written() - written; sent != 1 {
			t.Errorf("%s: %d writes after it was in sync, want the one of the new template", d.Version(), sent)
		}
	}
}

// waitLeftOut waits until the daemon has a value, and of its plan nothing is left but two changes that are skipped.
func (l *lane) waitLeftOut(key, value string) {
	l.t.Helper()
	wait.Until(l.t, func() string {
		if got := stconfig.Lookup(l.daemon.config(l.t), keyOf(l.t, key)).Str(); got != value {
			return fmt.Sprintf("%s is %q", key, got)
		}
		made, err := l.s.Client.DevicePlan(l.t.Context(), string(l.daemon.id))
		if err != nil {
			return err.Error()
		}
		for _, change := range made.Changes {
			if change.Class != string(plan.Skipped) || change.Reason == "" {
				return fmt.Sprintf("%s is %s", change.Key, change.Class)
			}
		}
		if len(made.Changes) != 2 {
			return fmt.Sprintf("%d changes are left", len(made.Changes))
		}
		return ""
	})
	l.s.WaitConfiguration(l.daemon.id, fleet.ConfigInSync)
}

func keyOf(t *testing.T, text string) stconfig.Key {
	t.Helper()
	key, err := stconfig.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
