package metrics

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/fleet"
)

var (
	metricName  = regexp.MustCompile(`\bmuster_[a-z_]+`)
	labelsOf    = regexp.MustCompile(`\b(muster_[a-z_]+)\{([^}]*)\}`)
	labelEquals = regexp.MustCompile(`([a-z]+)=~?"([^"]*)"`)
)

// every is a registry with each metric that a server may have, and each state as a label.
func every(t *testing.T) string {
	t.Helper()
	m, err := New(Options{
		Registry: prometheus.NewRegistry(), Version: "1.2.3", Counts: func() fleet.Counts { return fleet.Counts{} },
		Rollouts:    func() map[fleet.RolloutStatus]int { return nil },
		Queues:      map[string]func() int{"plans": func() int { return 0 }},
		Impairments: func() []fleet.Impairment { return nil }, Visited: func() int { return 0 },
		Backups:     func() Backups { return Backups{Enabled: true} },
		Certificate: func() *fleet.Served { return &fleet.Served{} },
		Tunnels: func() Tunnels {
			return Tunnels{Connected: map[string]int{"waiting": 0}, Ended: map[string]int64{"closed": 0}}
		},
		Measures: map[string]func() bool{"systemCallFilter": neverTrue, "landlock": neverTrue,
			"noNewPrivileges": neverTrue},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Asked("config", time.Second, nil)
	m.Served("getDevice", 200, time.Second)
	return read(t, m)
}

func neverTrue() bool { return false }

// An alert on a metric or a state that does not exist never fires, and nobody notices.
func TestAlertsAndBoardNameMetricsThatExist(t *testing.T) {
	exposed := every(t)
	seen := map[string]bool{}
	for _, file := range []string{"prometheus/alerts.yml", "grafana/muster.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(string(text), `\"`, `"`) // as the expressions are
		for _, name := range metricName.FindAllString(plain, -1) {
			seen[name] = true
			if !strings.Contains(exposed, "\n"+name+"{") && !strings.Contains(exposed, "\n"+name+" ") &&
				!strings.Contains(exposed, "# HELP "+name+" ") {
				t.Errorf("%s: no metric is called %s", file, name)
			}
		}
		for _, use := range labelsOf.FindAllStringSubmatch(plain, -1) {
			for _, label := range labelEquals.FindAllStringSubmatch(use[2], -1) {
				for value := range strings.SplitSeq(label[2], "|") {
					if slices.Contains([]string{"connection", "configuration", "health", "status", "measure"}, label[1]) &&
						!strings.Contains(exposed, use[1]+"{"+label[1]+`="`+value+`"}`) {
						t.Errorf("%s: %s has no %s %q", file, use[1], label[1], value)
					}
				}
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d metrics are used: this test reads too little", len(seen))
	}
}
