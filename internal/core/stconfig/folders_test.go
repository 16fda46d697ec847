package stconfig

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestAFolderIsReadWithoutTheRestAndWithoutItsPasswords(t *testing.T) {
	const config = `{"version":37,"devices":[{"deviceID":"A","addresses":["x"]}],"gui":{"user":"a"},"folders":[
		{"id":"other","devices":[]},
		{"id":"a/b","path":"~/b","type":"sendonly","paused":true,"later":{"x":[1]},"devices":[
			{"deviceID":"A","introducedBy":"","encryptionPassword":""},{"deviceID":"B","encryptionPassword":"geheim"}]}],
		"options":{}}`
	got, err := FolderIn(strings.NewReader(config), "a/b")
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if got.Path != "~/b" || got.Type != "sendonly" || !got.Paused || len(got.Peers) != 2 ||
		got.Peers[0] != (fleet.FolderPeer{Device: "A"}) || got.Peers[1] != (fleet.FolderPeer{Device: "B", Encrypted: true}) {
		t.Errorf("got %+v", got)
	}
	for _, without := range []string{config, `{}`, `{"folders":null}`, `{"folders":[]}`} {
		if got, err := FolderIn(strings.NewReader(without), "absent"); got != nil || err != nil {
			t.Errorf("%s: got %+v, %v", without, got, err)
		}
	}
	for _, broken := range []string{"", "{", `{"gui":{`, `{"folders":[{`} {
		if _, err := FolderIn(strings.NewReader(broken), "x"); err == nil {
			t.Errorf("%q: no error", broken)
		}
	}
}
