package cli

import (
	"testing"

	"muster/api"
)

// A value with braces was replaced again by another value, in some runs.
func TestEachPlaceholderOfACommandIsReplacedOnce(t *testing.T) {
	action := api.WaitingAction{Command: "muster pending accept {deviceID} {folder} --path {path}"}
	devices := []api.WaitingDevice{{Values: map[string]string{"deviceID": "ABCDEFG-H", "folder": "{deviceID}"}}}
	for range 20 {
		want := "muster pending accept ABCDEFG '{deviceID}' --path {path}"
		if got := commandOf(action, devices); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
