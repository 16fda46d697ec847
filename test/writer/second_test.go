package writer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/server"
)

// A person edits all the time, by narrow calls and whole documents, while Muster brings new template values to the
// same sections, members and lists. No edit of theirs at a key that no template names is lost, but for those that
// arrive while the daemon itself is merging a write of Muster's; and of those no more are lost than a person loses
// beside a plain program that writes as often to a daemon without Muster.
func TestAPersonsEditsAreNeverUndone(t *testing.T) {
	s, d, r := server.Start(t, server.Options{}), forAPerson(t), random(t)
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

	seed := r.Uint64()
	p, without := newPerson(t, d, rand.New(rand.NewPCG(seed, 0))), newUnmanaged(t, rand.New(rand.NewPCG(seed, 0)))
	excused := 0
	n := 0
	for round := range rounds(30, 1000) {
		began, written := time.Now(), len(through.windows())
		enough, done := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				n++
				key, text := texts[n%len(texts)](n)
				op := "merge"
				if _, err := s.Client.PutTemplate(t.Context(), ids[n%len(texts)],
					api.PutTemplate{Op: &op, Key: &key, Template: &text}); err != nil {
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
		acts := 3 + r.IntN(6)
		p.acts(acts)
		took := time.Since(began)
		close(enough)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		awaitIdle(s, d.ID)
		without.round(acts, len(through.windows())-written, took)
		lost, unlucky := p.check(through)
		excused += unlucky
		for _, what := range lost {
			t.Errorf("round %d: %s", round, what)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d edits beside %d writes of Muster's; %d were overtaken while the daemon was merging. Without Muster: %d "+
		"of %d, beside %d writes",
		p.done, len(through.windows()), excused, without.lost, without.person.done, without.writes)
	if lucky := 4 * math.Sqrt(float64(excused+without.lost+4)); float64(excused-without.lost) > lucky {
		t.Errorf("%d of %d edits were overtaken, and %d without Muster: more than chance explains", excused, p.done,
			without.lost)
	}
}

// awaitIdle waits until Muster has nothing more to do, or has given way to the person.
func awaitIdle(s *server.Server, id fleet.DeviceID) api.DeviceState {
	return s.WaitState(id, "in sync or contended", func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) &&
			(state.Configuration == string(fleet.ConfigInSync) || state.Configuration == string(fleet.ConfigContended))
	})
}
