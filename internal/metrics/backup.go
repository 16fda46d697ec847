package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/backup"
)

var (
	backupTime = prometheus.NewDesc("muster_backup_last_success_timestamp_seconds",
		"When the newest scheduled backup was made and read back; 0: there is none.", nil, nil)
	backupBytes  = prometheus.NewDesc("muster_backup_bytes", "Size of the newest scheduled backup.", nil, nil)
	backupFailed = prometheus.NewDesc("muster_backup_failed", "1 where the last attempt to make a backup failed, else 0.",
		nil, nil)
)

// backupCollector asks the schedule.
type backupCollector struct{ schedule *backup.Schedule }

func (backupCollector) Describe(to chan<- *prometheus.Desc) {
	to <- backupTime
	to <- backupBytes
	to <- backupFailed
}

func (c backupCollector) Collect(to chan<- prometheus.Metric) {
	status := c.schedule.Status()
	at, failed := 0.0, 0.0
	if !status.Last.CreatedAt.IsZero() {
		at = float64(status.Last.CreatedAt.UnixMilli()) / 1000
	}
	if status.Trouble != nil {
		failed = 1
	}
	to <- prometheus.MustNewConstMetric(backupTime, prometheus.GaugeValue, at)
	to <- prometheus.MustNewConstMetric(backupBytes, prometheus.GaugeValue, float64(status.Last.Bytes))
	to <- prometheus.MustNewConstMetric(backupFailed, prometheus.GaugeValue, failed)
}
