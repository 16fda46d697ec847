package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/fleet"
)

var (
	certificateEnds = prometheus.NewDesc("muster_certificate_expiry_timestamp_seconds",
		"When the certificate ends that the API shows.", nil, nil)
	certificateStale = prometheus.NewDesc("muster_certificate_stale",
		"1 while the files of the certificate hold something that cannot be used, and the one of before is shown; else 0.",
		nil, nil)
)

// certificateCollector reads the certificate of the API when Prometheus scrapes.
type certificateCollector struct{ served func() *fleet.Served }

func (certificateCollector) Describe(to chan<- *prometheus.Desc) {
	to <- certificateEnds
	to <- certificateStale
}

func (c certificateCollector) Collect(to chan<- prometheus.Metric) {
	served, stale := c.served(), 0.0
	if served.Stale {
		stale = 1
	}
	to <- prometheus.MustNewConstMetric(certificateEnds, prometheus.GaugeValue, float64(served.NotAfter.Unix()))
	to <- prometheus.MustNewConstMetric(certificateStale, prometheus.GaugeValue, stale)
}
