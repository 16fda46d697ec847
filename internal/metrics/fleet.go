package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/fleet"
	"muster/internal/health"
)

var (
	devicesByConnection = prometheus.NewDesc("muster_devices", "Registered devices by connection state.",
		[]string{"connection"}, nil)
	devicesByConfig = prometheus.NewDesc("muster_configurations", "Registered devices by configuration state.",
		[]string{"configuration"}, nil)
	foldersByHealth = prometheus.NewDesc("muster_folders",
		"Folders by the worst that holds for any of their devices.", []string{"health"}, nil)
	impairedParts = prometheus.NewDesc("muster_impaired", "1 where a part of the service does not work, else 0.",
		[]string{"part"}, nil)
	rolloutsByStatus = prometheus.NewDesc("muster_rollouts", "Rollouts that are not over, by status.",
		[]string{"status"}, nil)
)

// fleetCollector asks for the counts when they are read.
type fleetCollector struct{ counts func() health.Counts }

func (c fleetCollector) Describe(to chan<- *prometheus.Desc) {
	to <- devicesByConnection
	to <- devicesByConfig
	to <- foldersByHealth
}

func (c fleetCollector) Collect(to chan<- prometheus.Metric) {
	counts := c.counts()
	gauge := func(desc *prometheus.Desc, n int, label string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), label)
	}
	for _, state := range fleet.Connections() {
		gauge(devicesByConnection, counts.Connections[state], string(state))
	}
	for _, state := range []fleet.Configuration{
		fleet.ConfigUnknown, fleet.ConfigUnmanaged, fleet.ConfigInSync, fleet.ConfigPending, fleet.ConfigApplying,
		fleet.ConfigHeld,
		fleet.ConfigFailed, fleet.ConfigContended, fleet.ConfigUnstable,
	} {
		gauge(devicesByConfig, counts.Configurations[state], string(state))
	}
	gauge(foldersByHealth, counts.Folders.InSync, "inSync")
	gauge(foldersByHealth, counts.Folders.OutOfSync, "outOfSync")
	gauge(foldersByHealth, counts.Folders.WithErrors, "withErrors")
	gauge(foldersByHealth, counts.Folders.Unknown, "unknown")
}

type rolloutCollector struct {
	counts func() map[fleet.RolloutStatus]int
}

func (c rolloutCollector) Describe(to chan<- *prometheus.Desc) { to <- rolloutsByStatus }

func (c rolloutCollector) Collect(to chan<- prometheus.Metric) {
	counts := c.counts()
	for _, status := range []fleet.RolloutStatus{
		fleet.RolloutWaiting, fleet.RolloutRunning, fleet.RolloutPaused, fleet.RolloutHalted,
	} {
		to <- prometheus.MustNewConstMetric(rolloutsByStatus, prometheus.GaugeValue, float64(counts[status]), string(status))
	}
}

type impairmentCollector struct{ impairments func() []fleet.Impairment }

func (c impairmentCollector) Describe(to chan<- *prometheus.Desc) { to <- impairedParts }

func (c impairmentCollector) Collect(to chan<- prometheus.Metric) {
	impaired := map[fleet.Part]float64{}
	for _, i := range c.impairments() {
		impaired[i.Part] = 1
	}
	for _, part := range fleet.Parts {
		to <- prometheus.MustNewConstMetric(impairedParts, prometheus.GaugeValue, impaired[part], string(part))
	}
}
