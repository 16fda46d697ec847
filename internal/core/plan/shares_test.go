package plan

import (
	"testing"

	"muster/internal/core/stconfig"
)

// Found on a real 1.19.2: PATCHing a folder's devices with bare entries moved an encryption password to another
// device.
func TestShareEntriesAreSentWholeSoThatNoneInheritsAPassword(t *testing.T) {
	fresh := parse(
		t,
		`{"folders":[{"id":"f","devices":[{"deviceID":"A","introducedBy":"","encryptionPassword":"pw"},{"deviceID":"B","introducedBy":"","encryptionPassword":""}]}]}`,
	)
	after := parse(
		t,
		`{"folders":[{"id":"f","devices":[{"deviceID":"X"},{"deviceID":"B","introducedBy":"","encryptionPassword":""}]}]}`,
	)
	want := parse(
		t,
		`{"folders":[{"id":"f","devices":[{"deviceID":"X","introducedBy":"","encryptionPassword":""},{"deviceID":"B","introducedBy":"","encryptionPassword":""}]}]}`,
	)
	if got := wholeShares(after, fresh); !got.Equal(want) {
		t.Errorf("got %s, want %s", got.JSON(), want.JSON())
	}
}

func TestShareEntriesOfOldDaemonsGetNoFieldsThatTheyDoNotKnow(t *testing.T) {
	fresh := parse(t, `{"folders":[{"id":"f","devices":[{"deviceID":"A","introducedBy":""}]}]}`)
	after := parse(t, `{"folders":[{"id":"f","devices":[{"deviceID":"A","introducedBy":""},{"deviceID":"X"}]}]}`)
	want := parse(
		t,
		`{"folders":[{"id":"f","devices":[{"deviceID":"A","introducedBy":""},{"deviceID":"X","introducedBy":""}]}]}`,
	)
	if got := wholeShares(after, fresh); !got.Equal(want) {
		t.Errorf("got %s, want %s", got.JSON(), want.JSON())
	}
}

func parse(t *testing.T, text string) stconfig.Value {
	t.Helper()
	v, err := stconfig.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
