package model_test

import (
	"testing"

	"pgregory.net/rapid"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

// What the model had wrong, each as the sequence in which it was found.
func TestTheModelIsRight(t *testing.T) {
	t.Parallel()
	m := startMuster(t, server.Options{})
	m.s.Register(nora, "switched off", "127.0.0.1", 1)
	m.s.Register(olga, "switched off", "127.0.0.1", 1)
	t.Run("sequences", func(t *testing.T) {
		for name, acts := range map[string]func(s *sequence){
			"an introducer names no device that a person had":             introducedAgain,
			"an introducer names no device that waits to come back":       introducedWhileItWaits,
			"a folder that a daemon lost was not taken away":              lostFolder,
			"a device that waits for its folder is not asked about twice": deviceWithoutFolder,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rapid.MakeFuzz(func(rt *rapid.T) {
					s := newSequence(rt, m)
					defer s.end()
					acts(s)
					s.withoutMuster()
				})(t, draws(t))
			})
		}
	})
}

// The disk of the daemon was full when Muster made a folder, and the answer was lost. While the daemon was down, the
// template was deleted.
func lostFolder(s *sequence) {
	d := s.person.daemon
	before := d.Counters().Writes
	d.SetFaults(stsim.Faults{DiskFull: true, LoseAnswer: true})
	s.saves(madeByHand, saved{variant: 1})
	s.accepted()
	s.until(func() bool { return d.Counters().Writes > before })
	d.SetFaults(stsim.Faults{})
	s.awaitIdle()
	d.Crash()
	s.deletes(madeByHand)
	s.accepted()
	s.restarts(d.Start)
	s.awaitIdle()
}

// A template takes a folder away, and no longer. The folder waits for an answer. Another template shares it with a
// device, which is brought along with it.
func deviceWithoutFolder(s *sequence) {
	s.saves(removesDocs, saved{})
	s.accepted()
	s.awaitIdle()
	s.answers(consentOrKeep)
	s.deletes(removesDocs)
	s.accepted()
	s.awaitIdle()
	s.saves(sharesDocs, saved{variant: 1})
	s.accepted()
	s.awaitIdle()
	s.answers(func(key string, _ bool) string {
		if key == "devices."+string(olga) {
			return "consent"
		}
		return "leave"
	})
}

// A person has a device, and a template takes it away. An introducer adds it again, without its name.
func introducedAgain(s *sequence) {
	s.handMade(nora)
	s.saves(removesNora, saved{})
	s.accepted()
	s.awaitIdle()
	s.answers(consentOrKeep)
	s.introduced("docs", nora)
	s.deletes(removesNora)
	s.accepted()
	s.awaitIdle()
}

// The same after the template is gone, while the device waits for an answer.
func introducedWhileItWaits(s *sequence) {
	s.handMade(nora)
	s.saves(removesNora, saved{})
	s.accepted()
	s.awaitIdle()
	s.answers(consentOrKeep)
	s.deletes(removesNora)
	s.accepted()
	s.awaitIdle()
	s.introduced("docs", nora)
}

// handMade adds a device as a person does.
func (s *sequence) handMade(id fleet.DeviceID) {
	device := s.value.Get("defaults").Get("device").With("deviceID", stconfig.Text(string(id))).
		With("name", stconfig.Text("hers"))
	s.change(stconfig.Replace(s.value, keyOf("devices."+string(id)), device))
}
