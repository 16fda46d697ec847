package plan

import (
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// An order for one folder must not reach a folder of another type, and no request for a folder that the daemon's
// router would read as another path.
func TestAnOrderForAFolderIsForItsTypeAlone(t *testing.T) {
	doc, err := stconfig.Parse([]byte(`{"folders": [{"id": "a b", "type": "sendonly"}, {"id": "in", "type": "receiveonly"},
		{"id": "safe", "type": "receiveencrypted"}, {"id": "both", "type": "sendreceive"},
		{"id": "off", "type": "sendonly", "paused": true}, {"id": "x/y", "type": "sendonly"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		order  fleet.OrderType
		folder string
		path   string
		code   fleet.Code
	}{
		{fleet.OrderOverride, "a b", "/rest/db/override?folder=a+b", ""},
		{fleet.OrderOverride, "x/y", "/rest/db/override?folder=x%2Fy", ""},
		{fleet.OrderRevert, "in", "/rest/db/revert?folder=in", ""},
		{fleet.OrderRevert, "safe", "/rest/db/revert?folder=safe", ""},
		{fleet.OrderOverride, "in", "", fleet.CodeConflict},
		{fleet.OrderOverride, "both", "", fleet.CodeConflict},
		{fleet.OrderRevert, "both", "", fleet.CodeConflict},
		{fleet.OrderRevert, "a b", "", fleet.CodeConflict},
		{fleet.OrderOverride, "off", "", fleet.CodeConflict},
		{fleet.OrderRevert, "nowhere", "", fleet.CodeNotFound},
	} {
		path, err := ChangingFiles(doc, test.order, test.folder)
		if path != test.path || fleet.CodeOf(err) != test.code {
			t.Errorf("%s of %q: got %q, %v", test.order, test.folder, path, err)
		}
	}
	changes, path, err := PausingFolder(doc, "a b", true)
	if err != nil || len(changes) != 1 || path != "/rest/config/folders/a%20b" ||
		!strings.HasSuffix(changes[0].Key.String(), "paused") || !changes[0].To.IsTrue() {
		t.Errorf("got %v, %q, %v", changes, path, err)
	}
	if changes, _, err := PausingFolder(doc, "off", true); len(changes) > 0 || err != nil {
		t.Errorf("a folder that is paused already: got %v, %v", changes, err)
	}
	if _, _, err := PausingFolder(doc, "x/y", true); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v", err)
	}
}
