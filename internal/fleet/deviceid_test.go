package fleet

import (
	"strings"
	"testing"
)

// From Syncthing's own tests (lib/protocol/deviceid_test.go).
const known = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"

func TestParseDeviceIDReadsEverySpellingSyncthingReads(t *testing.T) {
	for name, spelling := range map[string]string{
		"canonical":              known,
		"lower case":             strings.ToLower(known),
		"no hyphens":             strings.ReplaceAll(known, "-", ""),
		"spaces":                 strings.ReplaceAll(known, "-", " "),
		"digits for letters":     "P561017-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2",
		"old, without checks":    "P56IOI7MZJNU2IQGDREYDM2MGTMGL3BXNPQ6W5BTBBZ4TJXZWICQ",
		"eight for B, 0 for O's": strings.NewReplacer("B", "8", "O", "0").Replace(known),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDeviceID(spelling)
			if err != nil || got != DeviceID(known) {
				t.Fatalf("got %q, %v; want %q", got, err, known)
			}
		})
	}
}

func TestParseDeviceIDRefusesWhatIsMistyped(t *testing.T) {
	for name, spelling := range map[string]string{
		"empty":           "",
		"short":           known[:20],
		"one char wrong":  "Q" + known[1:],
		"check wrong":     known[:len(known)-1] + "3",
		"foreign letters": strings.Replace(known, "P56", "P5ä", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := ParseDeviceID(spelling); CodeOf(err) != CodeInvalid {
				t.Fatalf("got %q, %v; want an invalid error", id, err)
			}
		})
	}
}
