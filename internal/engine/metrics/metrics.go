// Package metrics defines the metrics that Muster offers to Prometheus. No metric has a series per device, because ten
// thousand devices would make more series than all other metrics together. Only what is proven of copies has series per
// folder, of at most a thousand folders.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"muster/internal/fleet"
)

// Options say where the values come from. Only Registry is required.
type Options struct {
	Registry *prometheus.Registry
	Version  string
	Counts   func() fleet.Counts
	Rollouts func() map[fleet.RolloutStatus]int // rollouts that are not over
	Queues   map[string]func() int              // number of waiting items, by the name of the queue

	Impairments func() []fleet.Impairment // parts of Muster that do not work as they should
	Visited     func() int                // number of devices that are visited in turn rather than followed all the time
	Backups     func() Backups            // nil: there never are any
	Certificate func() *fleet.Served      // certificate of the API; the function returns nil for plain HTTP
	Tunnels     func() Tunnels
	Copies      func() []FolderCopies // Copies returns what is proven of folders.
	// measures that confine worker processes, by name; the function reports whether the measure is in force
	Measures map[string]func() bool
}

// Metrics holds the metrics that other packages report to. All others are read when Prometheus scrapes.
type Metrics struct {
	registry *prometheus.Registry
	asked    *prometheus.HistogramVec
	served   *prometheus.HistogramVec
	pinged   prometheus.Histogram
}

// New registers all metrics.
func New(o Options) (*Metrics, error) {
	m := &Metrics{
		registry: o.Registry,
		asked: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_daemon_request_seconds",
			Help: "Time that requests to daemons took, by what was asked. Polls for events wait up to 50 s for something to " +
				"happen.",
			Buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 10, 30, 60},
		}, []string{"call", "outcome"}),
		served: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "muster_api_request_seconds",
			Help:    "Time that requests to the REST API took, by operation. Event streams are left out.",
			Buckets: []float64{.0005, .001, .005, .025, .1, .5, 2.5, 10},
		}, []string{"operation", "outcome"}),
	}
	m.pinged = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "muster_tunnel_ping_seconds",
		Help:    "Round trip of the pings to agents, one every 30 s to each.",
		Buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 10},
	})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "muster_build_info", Help: "Always 1; the label is the version.",
		ConstLabels: prometheus.Labels{"version": o.Version},
	})
	build.Set(1)
	all := []prometheus.Collector{
		m.asked, m.served, m.pinged, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
	if o.Counts != nil {
		all = append(all, fleetCollector{o.Counts})
	}
	if o.Rollouts != nil {
		all = append(all, rolloutCollector{o.Rollouts})
	}
	if o.Impairments != nil {
		all = append(all, impairmentCollector{o.Impairments})
	}
	if o.Backups != nil {
		all = append(all, backupCollector{o.Backups})
	}
	if o.Certificate != nil && o.Certificate() != nil {
		all = append(all, certificateCollector{o.Certificate})
	}
	if o.Tunnels != nil {
		all = append(all, tunnelCollector{o.Tunnels})
	}
	if o.Copies != nil {
		all = append(all, copiesCollector{o.Copies})
	}
	if o.Visited != nil {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "muster_devices_visited",
			Help: "Devices that are visited once a minute, as the limit of open files has no room to follow them.",
		}, func() float64 { return float64(o.Visited()) }))
	}
	for name, depth := range o.Queues {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "muster_queue_depth", Help: "What waits to be worked off.", ConstLabels: prometheus.Labels{"queue": name},
		}, func() float64 { return float64(depth()) }))
	}
	for name, inForce := range o.Measures {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "muster_worker_confinement",
			Help:        "1 where a measure that confines the template workers is in force; the log says why not.",
			ConstLabels: prometheus.Labels{"measure": name},
		}, func() float64 {
			if inForce() {
				return 1
			}
			return 0
		}))
	}
	for _, one := range all {
		if err := o.Registry.Register(one); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Asked records a request to a daemon. call is its kind: "events", "config", "write", ...
func (m *Metrics) Asked(call string, took time.Duration, err error) {
	m.asked.WithLabelValues(call, outcomeOf(err)).Observe(took.Seconds())
}

// Pinged records the round-trip time of a ping to an agent.
func (m *Metrics) Pinged(roundTrip time.Duration) { m.pinged.Observe(roundTrip.Seconds()) }

// outcomeOf returns one of a few labels for an error, so that the number of series stays small.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return string(fleet.CodeOf(err))
}

// Served records a request to the REST API.
func (m *Metrics) Served(operation string, status int, took time.Duration) {
	outcome := "ok"
	switch {
	case status >= http.StatusInternalServerError:
		outcome = "failed"
	case status >= http.StatusBadRequest:
		outcome = "refused"
	}
	m.served.WithLabelValues(operation, outcome).Observe(took.Seconds())
}

// Handler serves all metrics in the format that the request asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
}
