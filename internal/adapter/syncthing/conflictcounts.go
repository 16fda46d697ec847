package syncthing

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
)

const (
	metricsPath       = "/metrics"
	conflictCounter   = "syncthing_model_folder_conflicts_total"
	maxCountedFolders = 1000
	maxConflictCount  = 1 << 40 // No daemon had more conflicts.
)

// ConflictCounts reads from /metrics how many conflicts a daemon resolved in each folder since its start. Daemons count
// since 2.0: one that is older answers with another page or none, and counts nothing. A folder without conflicts may be
// missing.
func (c calls) ConflictCounts(ctx context.Context) (map[string]int64, error) {
	body, err := c.do(ctx, &call{method: http.MethodGet, path: metricsPath, during: "ask for its metrics",
		maxBytes: c.limits.ConfigBytes, canWait: true})
	if err != nil {
		return nil, err
	}
	return parseConflictCounts(body), nil
}

// parseConflictCounts reads the text format of Prometheus. Lines that make no sense are left out.
func parseConflictCounts(body []byte) map[string]int64 {
	counts := map[string]int64{}
	for line := range bytes.Lines(body) {
		rest, is := bytes.CutPrefix(line, []byte(conflictCounter+"{"))
		if !is || len(line) > 2*maxItemPath || len(counts) >= maxCountedFolders {
			continue
		}
		folder, value, is := parseSample(string(rest))
		if is && value >= 0 && value <= maxConflictCount {
			counts[folder] = int64(value)
		}
	}
	return counts
}

// parseSample reads the label and the value of a sample, after its opening brace.
func parseSample(rest string) (folder string, value float64, is bool) {
	quoted, is := strings.CutPrefix(rest, `folder=`)
	if !is {
		return "", 0, false
	}
	text, err := strconv.QuotedPrefix(quoted)
	if err != nil || text[0] != '"' {
		return "", 0, false
	}
	folder, err = strconv.Unquote(text)
	after, is := strings.CutPrefix(quoted[len(text):], "} ")
	fields := strings.Fields(after)
	if err != nil || !is || folder == "" || len(fields) == 0 {
		return "", 0, false
	}
	value, err = strconv.ParseFloat(fields[0], 64)
	return folder, value, err == nil
}
