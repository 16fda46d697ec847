package writer_test

import (
	"fmt"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// A person edits all the time, by narrow calls and whole documents, while Muster brings new template values to the same
// sections, members and lists. No edit of theirs at a key that no template names is lost, but for those that arrive while
// the daemon itself is merging a write of Muster's.
func TestAPersonsEditsAreNeverUndone(t *testing.T) {
	s, d, r := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{}), random(t)
	d.Put("/rest/config/devices", fmt.Sprintf(`[{"deviceID": %q}, {"deviceID": %q}, {"deviceID": %q}]`, peerA, peerB, peerC))
	d.Put("/rest/config/folders", fmt.Sprintf(`[
		{"id": "managed", "path": "~/managed", "paused": true, "devices": [{"deviceID": %q}], "versioning": {"type": "simple", "params": {"keep": "5", "mine": "1"}}},
		{"id": "own", "path": "~/own", "paused": true}]`, peerA))
	through := newProxy(t, d)
	s.Register(d.ID, d.APIKey, through.host, through.port, "t")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)

	texts := []func(n int) (key, text string){
		func(n int) (string, string) { return "options", fmt.Sprintf(`{maxSendKbps: %d}`, 100+n) },
		func(n int) (string, string) {
			return "folders.managed", fmt.Sprintf(`{rescanIntervalS: %d, versioning: {params: {keep: "%d"}}}`, 100+n, 1+n)
		},
		func(n int) (string, string) { // a share that comes and goes
			return "folders.managed.devices", fmt.Sprintf(`[{deviceID: %q}]`, []string{peerA, peerC}[n%2])
		},
		func(n int) (string, string) {
			return "devices", fmt.Sprintf(`[{deviceID: %q, compression: %q}]`, peerC, []string{"always", "never"}[n%2])
		},
		func(n int) (string, string) { return "defaults.folder", fmt.Sprintf(`{rescanIntervalS: %d}`, 100+n) },
	}
	ids := make([]int64, len(texts))
	for i, say := range texts {
		key, text := say(0)
		ids[i] = s.Template("merge", key, text, "t")
	}
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)

	p := newPerson(t, d, r)
	excused := 0
	n := 0
	for round := range rounds(30, 500) {
		enough, done := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				n++
				key, text := texts[n%len(texts)](n)
				op := "merge"
				if _, err := s.Client.PutTemplate(t.Context(), ids[n%len(texts)], api.PutTemplate{Op: &op, Key: &key, Template: &text}); err != nil {
					done <- err
					return
				}
				select {
				case <-enough:
					done <- nil
					return
				default:
				}
			}
		}()
		for range 3 + r.IntN(6) {
			p.act()
			if r.IntN(2) == 0 {
				p.pause()
			}
		}
		close(enough)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		settled(s, d.ID)
		lost, unlucky := p.check(through)
		excused += unlucky
		for _, what := range lost {
			t.Errorf("round %d: %s", round, what)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d edits beside %d writes of Muster's; %d were overtaken while the daemon was merging", p.done, len(through.windows()), excused)
	if excused*10 > p.done {
		t.Errorf("%d of %d edits were overtaken: the windows are too wide", excused, p.done)
	}
}

// settled waits until Muster has nothing more to do, or has given way to the person.
func settled(s *server.Server, id fleet.DeviceID) api.DeviceState {
	return s.WaitState(id, "in sync or contended", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) &&
			(state.Configuration == string(fleet.ConfigInSync) || state.Configuration == string(fleet.ConfigContended))
	})
}
