package plan_test

import (
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// A restore of what was read through an agent with --observe wrote the text in place of the API key to the daemon.
func TestWhatAnAgentHidIsNeverWritten(t *testing.T) {
	hidden := fleet.Hidden([]byte("key"), "secret")
	for key, text := range map[string]string{
		"gui.apiKey":   `"` + hidden + `"`,
		"gui.password": `"` + hidden + `"`,
		"folders.photos-x4kd.devices." + peer + ".encryptionPassword": `"` + hidden + `"`,
		"folders.new": `{"path": "~/new", "devices": [{"deviceID": "` + peer + `", "encryptionPassword": "` + hidden + `"}]}`,
	} {
		_, p, err := guardScene(t).plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: key, Text: text}})
		if err != nil || len(p.Changes) == 0 {
			t.Errorf("%s: got %+v, %v", key, p, err)
			continue
		}
		if c := p.Changes[0]; c.Class != plan.Refused {
			t.Errorf("%s: got %v", key, c)
		}
	}
}
