package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	tunnels = prometheus.NewDesc("muster_tunnels", "Agents that are connected, by the state of their device.",
		[]string{"state"}, nil)
	tunnelsEnded = prometheus.NewDesc("muster_tunnels_ended_total", "Connections of agents that ended, by the reason.",
		[]string{"reason"}, nil)
	tunnelBytes = prometheus.NewDesc("muster_tunnel_bytes_total", "Bytes through the connections of agents, without TLS.",
		[]string{"direction"}, nil)
)

// Tunnels are the numbers of the agents' connections.
type Tunnels struct {
	Connected      map[string]int   // open connections, by the state of their device
	Ended          map[string]int64 // ended connections since the start of the server, by reason
	Received, Sent int64            // bytes since the start of the server, without TLS overhead
}

// tunnelCollector reads the numbers from the hub when Prometheus scrapes.
type tunnelCollector struct{ counts func() Tunnels }

func (tunnelCollector) Describe(to chan<- *prometheus.Desc) {
	to <- tunnels
	to <- tunnelsEnded
	to <- tunnelBytes
}

func (c tunnelCollector) Collect(to chan<- prometheus.Metric) {
	counts := c.counts()
	for state, n := range counts.Connected {
		to <- prometheus.MustNewConstMetric(tunnels, prometheus.GaugeValue, float64(n), state)
	}
	for reason, n := range counts.Ended {
		to <- prometheus.MustNewConstMetric(tunnelsEnded, prometheus.CounterValue, float64(n), reason)
	}
	to <- prometheus.MustNewConstMetric(tunnelBytes, prometheus.CounterValue, float64(counts.Received), "received")
	to <- prometheus.MustNewConstMetric(tunnelBytes, prometheus.CounterValue, float64(counts.Sent), "sent")
}
