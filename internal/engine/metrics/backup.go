package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	backupTime = prometheus.NewDesc("muster_backup_last_success_timestamp_seconds",
		"When the newest scheduled backup was made and read back; 0: there is none.", nil, nil)
	backupBytes  = prometheus.NewDesc("muster_backup_bytes", "Size of the newest scheduled backup.", nil, nil)
	backupFailed = prometheus.NewDesc("muster_backup_failed", "1 where the last attempt to make a backup failed, else 0.",
		nil, nil)
)

// Backups is the state of the scheduled backups.
type Backups struct {
	Enabled   bool      // Metrics about backups exist only if it is true.
	LastAt    time.Time // zero when there is no backup
	LastBytes int64
	Failed    bool // the last attempt failed
}

// backupCollector reads the state when Prometheus scrapes.
type backupCollector struct{ backups func() Backups }

func (backupCollector) Describe(to chan<- *prometheus.Desc) {
	to <- backupTime
	to <- backupBytes
	to <- backupFailed
}

func (c backupCollector) Collect(to chan<- prometheus.Metric) {
	backups := c.backups()
	if !backups.Enabled {
		return
	}
	at, failed := 0.0, 0.0
	if !backups.LastAt.IsZero() {
		at = float64(backups.LastAt.UnixMilli()) / 1000
	}
	if backups.Failed {
		failed = 1
	}
	to <- prometheus.MustNewConstMetric(backupTime, prometheus.GaugeValue, at)
	to <- prometheus.MustNewConstMetric(backupBytes, prometheus.GaugeValue, float64(backups.LastBytes))
	to <- prometheus.MustNewConstMetric(backupFailed, prometheus.GaugeValue, failed)
}
