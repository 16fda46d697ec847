package stconfig

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

// A number with a unit was answered with the field's unit for some fields alone.
func TestEveryNumberWithAUnitNamesTheUnitOfItsField(t *testing.T) {
	for key, want := range map[string]string{
		"options.maxSendKbps": "KiB/s", "options.relayReconnectIntervalM": "minutes", "options.natLeaseMinutes": "minutes",
		"options.natTimeoutSeconds": "seconds", "options.urInitialDelayS": "seconds", "options.keepTemporariesH": "hours",
		"folders.a.modTimeWindowS": "seconds", "folders.a.pullerMaxPendingKiB": "KiB", "options.maxFolderConcurrency": "",
		"folders.a.xattrFilter.maxTotalSize": "bytes", "folders.a.weakHashThresholdPct": "percent",
	} {
		parsed, err := ParseKey(key)
		if err != nil {
			t.Fatal(err)
		}
		found := Mistakes(fleet.OpSet, parsed, Text("10 x"))
		_, got, _ := strings.Cut(found[0].Text, "; the field counts in ")
		if len(found) != 1 || found[0].Kind != WrongType || got != want {
			t.Errorf("%s: got %v, want %q", key, found, want)
		}
	}
}

func TestABooleanOfAnotherFormatIsNamed(t *testing.T) {
	key, err := ParseKey("options.natEnabled")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"yes": "use true in the place of \"yes\"",
		"Off":  "use false in the place of \"Off\"",
		"TRUE": "use true in the place of \"TRUE\"", "maybe": "use true or false, without quotes",
		"true": "write true without quotes"} {
		if found := Mistakes(fleet.OpSet, key, Text(text)); len(found) != 1 || !strings.HasSuffix(found[0].Text, want) {
			t.Errorf("%s: got %v, want %q", text, found, want)
		}
	}
}
