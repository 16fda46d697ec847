package health

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestTheStateWarnsBeforeACertificateEnds(t *testing.T) {
	ends := time.Date(2029, 2, 19, 0, 0, 0, 0, time.UTC) // 820 days after it was made
	s := &fleet.Snapshot{Device: fleet.DeviceIDOf([32]byte{7}),
		Proven: fleet.Certificate{Fingerprint: "sha256:aa", NotAfter: ends}}
	for name, c := range map[string]struct {
		at           time.Time
		settings     fleet.DeviceSettings
		reason, next string
	}{
		"46 days before": {
			ends.AddDate(0, 0, -46), fleet.DeviceSettings{Pin: "sha256:aa", PinOrigin: fleet.PinGiven}, "", "",
		},
		"44 days before": {
			ends.AddDate(0, 0, -44), fleet.DeviceSettings{Pin: "sha256:aa", PinOrigin: fleet.PinGiven}, "2029-02-19",
			"muster device trust",
		},
		"after its end": {
			ends.AddDate(1, 0, 0), fleet.DeviceSettings{Pin: "sha256:aa", PinOrigin: fleet.PinFirstUse}, "2029-02-19",
			"muster enroll",
		},
		"another one": {ends, fleet.DeviceSettings{Pin: "sha256:bb", PinOrigin: fleet.PinGiven}, "", ""},
		"first use": {
			ends.AddDate(-1, 0, 0), fleet.DeviceSettings{Pin: "sha256:aa", PinOrigin: fleet.PinFirstUse}, "", "",
		},
		"no certificate": {ends, fleet.DeviceSettings{}, "", ""},
		"after a restart": {
			ends.AddDate(0, 0, -1), fleet.DeviceSettings{Pin: "sha256:aa", PinOrigin: fleet.PinGiven}, "2029-02-19",
			"muster enroll",
		},
	} {
		t.Run(name, func(t *testing.T) {
			reason, next := certificateNotes(s, c.settings, c.at)
			if !strings.Contains(reason, c.reason) || c.reason == "" && reason != "" || !strings.Contains(next, c.next) ||
				c.next == "" && next != "" {
				t.Errorf("got %q and %q", reason, next)
			}
		})
	}
}
