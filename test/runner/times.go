package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// times are the seconds that each run took when it last passed, by what they are called.
type times map[string]float64

func timesFile() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "muster-tests", "seconds.json")
}

// readTimes gives what write left; nothing on a machine without any, where the order is a guess.
func readTimes() times {
	known := times{}
	if text, err := os.ReadFile(timesFile()); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	return known
}

// write keeps the times for the next run. Without them only the order is worse.
func (k times) write() {
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(timesFile()), 0o755) == nil {
		_ = os.WriteFile(timesFile(), text, 0o644)
	}
}

// of is what a task probably takes. One that never ran counts as a second for each KiB of its tests.
func (k times) of(t task) float64 {
	if seconds, ran := k[t.String()]; ran {
		return seconds
	}
	return float64(t.bytes) / 1024
}
