package reconcile

import (
	"testing"

	"muster/internal/fleet"
)

func TestWhichTemplatesAskForOtherDevices(t *testing.T) {
	for name, test := range map[string]struct {
		key, text string
		asks      bool
	}{
		"a literal":                    {"options.natEnabled", "false", false},
		"a program about its own":      {"options", "def template(device):\n    return {\"maxSendKbps\": device.apiPort}", false},
		"a program that lists":         {"folders.a", "def template():\n    return [d.deviceID for d in devices()]", true},
		"a program that asks for tags": {"options", "def template():\n    return len(tags())", true},
		"sharing by a literal":         {"folders.a", "{devices: []}", true},
		"sharing by the key":           {"folders.a.Devices", "[]", true},
		"a name that is escaped":       {"folders.a", `{"\u0064evices": []}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := asksForOthers(fleet.Template{Key: test.key, Text: test.text}); got != test.asks {
				t.Errorf("got %t", got)
			}
		})
	}
}
