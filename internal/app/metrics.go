package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/adapter/sandbox"
	"muster/internal/engine/metrics"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// newMetrics makes the metrics of this server, in a registry of its own.
func (a *App) newMetrics(pool *sandbox.Pool) (*metrics.Metrics, error) {
	measures := map[string]func() bool{}
	for _, m := range sandbox.Measures {
		measures[string(m)] = func() bool { return pool.Confinement().InForce(m) }
	}
	return metrics.New(metrics.Options{
		Registry: prometheus.NewRegistry(), Version: a.o.Build.String(), Counts: a.counts, Rollouts: a.openRollouts,
		Impairments: a.monitor.Impairments, Visited: func() int { return a.mirror.Visited() },
		Tunnels: a.tunnelsInNumbers, Measures: measures, Backups: a.backupsInNumbers, Certificate: a.socket.Served,
		Copies: a.copiesInNumbers,
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

func (a *App) tunnelsInNumbers() metrics.Tunnels {
	counts := a.hub.Counts()
	connected := make(map[string]int, len(counts.Tunnels))
	for state, n := range counts.Tunnels {
		connected[string(state)] = n
	}
	return metrics.Tunnels{Connected: connected, Ended: counts.Ended, Received: counts.Received, Sent: counts.Sent}
}

func (a *App) backupsInNumbers() metrics.Backups {
	status := a.backups.Status()
	return metrics.Backups{Enabled: a.backups.Enabled(), LastAt: status.Last.CreatedAt, LastBytes: status.Last.Bytes,
		Failed: status.Trouble != nil}
}
