package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/tunnel"
)

var (
	tunnels = prometheus.NewDesc("muster_tunnels", "Agents that are connected, by the state of their device.",
		[]string{"state"}, nil)
	tunnelsEnded = prometheus.NewDesc("muster_tunnels_ended_total", "Connections of agents that ended, by the reason.",
		[]string{"reason"}, nil)
	tunnelBytes = prometheus.NewDesc("muster_tunnel_bytes_total", "Bytes through the connections of agents, without TLS.",
		[]string{"direction"}, nil)
)

// tunnelCollector asks the hub.
type tunnelCollector struct{ counts func() tunnel.Counts }

func (tunnelCollector) Describe(to chan<- *prometheus.Desc) {
	to <- tunnels
	to <- tunnelsEnded
	to <- tunnelBytes
}

func (c tunnelCollector) Collect(to chan<- prometheus.Metric) {
	counts := c.counts()
	for state, n := range counts.Tunnels {
		to <- prometheus.MustNewConstMetric(tunnels, prometheus.GaugeValue, float64(n), string(state))
	}
	for reason, n := range counts.Ended {
		to <- prometheus.MustNewConstMetric(tunnelsEnded, prometheus.CounterValue, float64(n), reason)
	}
	to <- prometheus.MustNewConstMetric(tunnelBytes, prometheus.CounterValue, float64(counts.Received), "received")
	to <- prometheus.MustNewConstMetric(tunnelBytes, prometheus.CounterValue, float64(counts.Sent), "sent")
}
