package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/metrics"
	"muster/internal/sandbox"
	"muster/internal/tunnel"
)

// newMetrics measures this server, in a registry of its own.
func (a *App) newMetrics(pool *sandbox.Pool) (*metrics.Metrics, error) {
	measures := map[string]func() bool{}
	for _, m := range sandbox.Measures {
		measures[string(m)] = func() bool { return pool.Confinement().InForce(m) }
	}
	return metrics.New(metrics.Options{
		Registry: prometheus.NewRegistry(), Version: a.o.Version, Counts: a.rollup.Counts, Rollouts: a.openRollouts,
		Impairments: a.monitor.Impairments, Visited: func() int { return a.mirror.Visited() },
		Tunnels: func() tunnel.Counts { return a.hub.Counts() }, Measures: measures, Backups: a.backups,
		Certificate: a.socket.Served,
		Queues: map[string]func() int{
			"observations": func() int { return a.mirror.Backlog() },
			"devices":      func() int { return a.engine.Backlog() },
		},
	})
}

func (a *App) openRollouts() map[fleet.RolloutStatus]int {
	rollouts, err := a.runner.Rollouts(context.Background())
	if err != nil {
		a.log.Warn("rollouts not counted", logkey.Err(err))
	}
	counts := map[fleet.RolloutStatus]int{}
	for _, r := range rollouts {
		counts[r.Status]++
	}
	return counts
}
