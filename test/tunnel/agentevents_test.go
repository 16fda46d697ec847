package tunnel_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// followed collects the events about agents, by what became of them.
func followed(t *testing.T, c *client.Client) func() []string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var all []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.Events(ctx, client.EventFilter{Types: []string{"agent"}}, 1, func(e api.Event) error {
			var news api.AgentEvent
			if e.Type == "agent" && json.Unmarshal(e.Data, &news) == nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, news.State)
			}
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// What became of agents was in the log of the server alone, and a copied certificate in no audit.
func TestEventsAndAuditTellWhatBecomesOfAgents(t *testing.T) {
	t.Parallel()
	cert, key := server.Certificate(t)
	s := server.Start(t, server.Options{TLSCert: cert, TLSKey: key})
	farm := simulated.Start(t, stsim.Options{Count: 2, Network: 92})
	run := func(d *stsim.Daemon) (stop func()) { return simulated.RunAgents(t, d.RunAgent, hostOf(s)) }
	told := followed(t, s.Client)
	waitTold := func(want ...string) {
		t.Helper()
		wait.Until(t, func() string {
			got := told()
			for _, state := range want {
				i := slices.Index(got, state)
				if i < 0 {
					return "told was not " + state
				}
				got = got[i+1:]
			}
			return ""
		})
	}
	first, second := farm.Daemon(0), farm.Daemon(1)
	stopFirst := run(first)
	waitTold("waiting")
	if _, err := s.Client.AcceptEnrollment(t.Context(), string(first.ID()), api.AcceptEnrollment{}); err != nil {
		t.Fatal(err)
	}
	waitTold("waiting", "accepted")
	stopCopy := run(first)
	waitTold("waiting", "accepted", "cloned")
	wait.Until(t, func() string {
		entries, err := s.Client.Audit(t.Context(), client.AuditSearch{Subject: string(first.ID())})
		if err != nil || !slices.ContainsFunc(entries, func(e api.AuditEntry) bool { return e.What == "agent.cloned" }) {
			return "the audit does not tell of the copy"
		}
		return ""
	})
	stopCopy()
	stopFirst()
	waitTold("waiting", "accepted", "cloned", "disconnected")

	run(second)
	waitTold("disconnected", "waiting")
	if err := s.Client.RejectEnrollment(t.Context(), string(second.ID())); err != nil {
		t.Fatal(err)
	}
	waitTold("disconnected", "waiting", "refused")
}
