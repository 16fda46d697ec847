package syncthing

import (
	"maps"
	"testing"
)

func TestConflictCountsAmongMetrics(t *testing.T) {
	const text = `# TYPE syncthing_model_folder_conflicts_total counter
syncthing_model_folder_conflicts_total{folder="a b"} 3
syncthing_model_folder_conflicts_total{folder="with \"quotes\" and \\"} 1.2e+03 1700000000
syncthing_model_folder_conflicts_total{folder="none"} 0
syncthing_model_folder_conflicts_total{folder="negative"} -1
syncthing_model_folder_conflicts_total{folder="huge"} 1e300
syncthing_model_folder_conflicts_total{folder="no number"} NaN
syncthing_model_folder_conflicts_total{folder="cut
syncthing_model_folder_conflicts_total{other="x"} 5
syncthing_model_folder_conflicts_total_other{folder="x"} 5
syncthing_model_folder_conflicts_total 5
syncthing_model_folder_state{folder="a b"} 7
`
	want := map[string]int64{"a b": 3, `with "quotes" and \`: 1200, "none": 0}
	if got := parseConflictCounts([]byte(text)); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := parseConflictCounts([]byte("<html>")); len(got) != 0 {
		t.Errorf("of another page: got %v", got)
	}
}
