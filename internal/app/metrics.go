package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/metrics"
)

// newMetrics measures this server, in a registry of its own.
func (a *App) newMetrics() (*metrics.Metrics, error) {
	return metrics.New(metrics.Options{
		Registry: prometheus.NewRegistry(), Version: a.o.Version, Counts: a.overview.Counts, Rollouts: a.openRollouts,
		Impairments: a.health.Impairments, Visited: func() int { return a.mirror.Visited() },
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
