package metrics

import (
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// FolderCopies is what is proven of the copies of a folder.
type FolderCopies struct {
	Folder   string
	Copies   int
	Unproven time.Duration // 0: no change is known since everything was proven
}

var (
	copiesOfFolder = prometheus.NewDesc("muster_folder_copies",
		"Devices that were proven to hold everything that the others had scanned of a folder, when they were asked last. "+
			"The thousand folders that were asked about last have it.", []string{"folder"}, nil)
	folderUnproven = prometheus.NewDesc("muster_folder_unproven_seconds",
		"Time since all copies of a folder were proven last, where one is not proven or a change is known since; else 0.",
		[]string{"folder"}, nil)
)

// longestLabel is the length of the longest folder ID that has series, in bytes.
const longestLabel = 256

type copiesCollector struct{ folders func() []FolderCopies }

func (c copiesCollector) Describe(to chan<- *prometheus.Desc) {
	to <- copiesOfFolder
	to <- folderUnproven
}

func (c copiesCollector) Collect(to chan<- prometheus.Metric) {
	for _, f := range c.folders() {
		if len(f.Folder) > longestLabel || !utf8.ValidString(f.Folder) {
			continue
		}
		to <- prometheus.MustNewConstMetric(copiesOfFolder, prometheus.GaugeValue, float64(f.Copies), f.Folder)
		to <- prometheus.MustNewConstMetric(folderUnproven, prometheus.GaugeValue, f.Unproven.Seconds(), f.Folder)
	}
}
