package tunnel_test

import (
	"context"
	"net/url"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

// Simulated daemons of both versions are managed by simulated agents, through restarts of the server.
func TestSimulatedAgents(t *testing.T) {
	t.Parallel()
	cert, key := issue(t)
	s := server.Start(t, server.Options{TLSCert: cert, TLSKey: key})
	farm, err := stsim.New(stsim.Options{Count: 4, Network: 91})
	if err != nil {
		t.Fatal(err)
	}
	if err := farm.Start(); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- farm.RunAgents(ctx, at.Host) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = farm.Close()
	})
	for _, d := range farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), "", d.Port(), "all")
	}
	s.Template("set", "options.maxSendKbps", "99", "all")
	for _, d := range farm.Daemons() {
		s.WaitState(d.ID(), "in sync by its agent", func(state api.DeviceState) bool {
			return state.FoundBy == fleet.FoundByAgent && state.Configuration == string(fleet.ConfigInSync)
		})
		server.Until(t, func() string {
			if got := string(d.Config().Get("options").Get("maxSendKbps").JSON()); got != "99" {
				return "the daemon has " + got
			}
			return ""
		})
	}
}
