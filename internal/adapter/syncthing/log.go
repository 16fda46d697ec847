package syncthing

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"muster/internal/fleet"
)

const (
	maxLogLines = 1000
	maxLogText  = 2 << 10 // bytes of a line
)

const duringLog = "read the daemon's log"

// Log reads the lines of /rest/system/log after a time, oldest first. A daemon keeps the last few hundred.
func (c calls) Log(ctx context.Context, since time.Time) ([]fleet.LogLine, error) {
	path := "/rest/system/log"
	if !since.IsZero() {
		path += "?since=" + url.QueryEscape(since.UTC().Format(time.RFC3339Nano))
	}
	body, err := c.do(ctx, &call{method: http.MethodGet, path: path, during: duringLog, maxBytes: c.limits.ConfigBytes})
	if err != nil {
		return nil, err
	}
	return parseLog(body, c.limits)
}

func parseLog(body []byte, l *Limits) ([]fleet.LogLine, error) {
	var w struct {
		Messages []struct {
			When    string          `json:"when"`
			Message string          `json:"message"`
			Level   json.RawMessage `json:"level"`
		} `json:"messages"`
	}
	if err := decode(body, &w, l, duringLog); err != nil {
		return nil, err
	}
	newest := w.Messages[max(0, len(w.Messages)-maxLogLines):]
	lines := make([]fleet.LogLine, len(newest))
	for i, m := range newest {
		lines[i] = fleet.LogLine{At: parseTime(m.When), Level: logLevel(m.Level), Text: shortText(m.Message, maxLogText)}
	}
	return lines, nil
}

// logLevel parses a level: a word in 2.x, a number in 1.x.
func logLevel(level json.RawMessage) string {
	text := strings.ToLower(strings.Trim(string(level), `"`))
	switch text {
	case "0":
		return "debug"
	case "1":
		return "verbose"
	case "2":
		return "info"
	case "3", "warn":
		return "warning"
	}
	return shortText(text, 20)
}
