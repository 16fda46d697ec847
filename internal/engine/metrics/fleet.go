package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/fleet"
)

var (
	devicesByConnection = prometheus.NewDesc("muster_devices", "Registered devices by connection state.",
		[]string{"connection"}, nil)
	devicesByConfig = prometheus.NewDesc("muster_configurations", "Registered devices by configuration state.",
		[]string{"configuration"}, nil)
	foldersByState = prometheus.NewDesc("muster_folders",
		"Folders by the worst state on any of their devices.", []string{"state"}, nil)
	devicesByFolders = prometheus.NewDesc("muster_devices_by_folders",
		"Registered devices that have folders, by the worst state of those.", []string{"state"}, nil)
	devicesByWait = prometheus.NewDesc("muster_devices_waiting",
		"Registered devices that wait for a person, by cause. A device may have several.", []string{"cause"}, nil)
	impairedParts = prometheus.NewDesc("muster_impaired", "1 where a part of the service does not work, else 0.",
		[]string{"part"}, nil)
	rolloutsByStatus = prometheus.NewDesc("muster_rollouts", "Rollouts that are not over, by status.",
		[]string{"status"}, nil)
)

// fleetCollector reads the counts when Prometheus scrapes.
type fleetCollector struct{ counts func() fleet.Counts }

func (c fleetCollector) Describe(to chan<- *prometheus.Desc) {
	to <- devicesByConnection
	to <- devicesByConfig
	to <- foldersByState
	to <- devicesByFolders
	to <- devicesByWait
}

func (c fleetCollector) Collect(to chan<- prometheus.Metric) {
	counts := c.counts()
	gauge := func(desc *prometheus.Desc, n int, label string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), label)
	}
	for _, state := range fleet.Connections() {
		gauge(devicesByConnection, counts.Connections[state], string(state))
	}
	for _, state := range fleet.Configurations() {
		gauge(devicesByConfig, counts.Configurations[state], string(state))
	}
	for _, state := range fleet.FolderStates() {
		gauge(foldersByState, counts.Folders.Of(state), state.String())
		gauge(devicesByFolders, counts.DevicesByFolders.Of(state), state.String())
	}
	for _, cause := range fleet.WaitCauses {
		gauge(devicesByWait, counts.Waits[cause], string(cause))
	}
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
