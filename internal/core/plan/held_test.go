package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// folderWith is a folder in a daemon's own words, shared with devices.
func folderWith(path, more string, devices ...string) string {
	shares := make([]string, len(devices))
	for i, id := range devices {
		shares[i] = fmt.Sprintf(`{"deviceID": %q, "introducedBy": "", "encryptionPassword": ""}`, id)
	}
	return fmt.Sprintf(`{"id": "f", "path": %q%s, "devices": [%s]}`, path, more, strings.Join(shares, ","))
}

func change(t *testing.T, key, from string) plan.Change {
	t.Helper()
	c := plan.Change{Key: parseKey(t, key), Class: plan.Held}
	if from != "" {
		v, err := stconfig.Parse([]byte(from))
		if err != nil {
			t.Fatal(err)
		}
		c.From = v
	}
	return c
}

func parseKey(t *testing.T, text string) stconfig.Key {
	t.Helper()
	key, err := stconfig.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Only which registered devices are named makes no difference between two changes.
func TestEqualChangesOfTwoDevices(t *testing.T) {
	const another = string(stconfig.SampleID)
	g := plan.Grouping{Key: []byte("key"), Registered: func(id fleet.DeviceID) bool {
		return id == nora ||
			id == stconfig.SampleID
	}}
	first := change(t, "folders.f", folderWith("~/f", "", nora))
	password := func(id string) string {
		return fmt.Sprintf(`{"id": "f", "devices": [{"deviceID": %q, "encryptionPassword": "p"},
			{"deviceID": %q, "encryptionPassword": ""}]}`, id, map[string]string{nora: another, another: nora}[id])
	}
	for _, tc := range []struct {
		name        string
		one, other  plan.Change
		equal       bool
		prepare     func(c *plan.Change)
		wantOfOther string // the group's key, where it is of interest
	}{
		{name: "the same", one: first, other: first, equal: true},
		{name: "another registered peer", one: first, other: change(t, "folders.f", folderWith("~/f", "", another)),
			equal: true},
		{name: "more registered peers", one: first, other: change(t, "folders.f", folderWith("~/f", "", another, nora)),
			equal: true},
		{name: "a stranger too", one: first, other: change(t, "folders.f", folderWith("~/f", "", nora, stranger))},
		{name: "another path", one: first, other: change(t, "folders.f", folderWith("~/g", "", nora))},
		{name: "another type", one: first, other: change(t, "folders.f", folderWith("~/f", `, "type": "sendonly"`, nora))},
		{name: "what another version has by default", one: first,
			other: change(t, "folders.f", folderWith("~/f", `, "type": "sendreceive", "weakHashThresholdPct": 25, "sendXattrs": false,
				"group": "", "blockIndexing": true,
				"versioning": {"type": "", "params": {}, "fsPath": ""}, "maxConcurrentWrites": 16`, nora)), equal: true},
		{name: "what another version has, not by default", one: first,
			other: change(t, "folders.f", folderWith("~/f", `, "sendXattrs": true`, nora))},
		{name: "versions of files elsewhere", one: first,
			other: change(t, "folders.f", folderWith("~/f", `, "versioning": {"type": "", "params": {}, "fsPath": "/x"}`,
				nora))},
		{name: "another folder", one: first, other: change(t, "folders.g", folderWith("~/f", "", nora))},
		{name: "fields in another order", one: change(t, "folders.f", `{"id": "f", "path": "p"}`),
			other: change(t, "folders.f", `{"path": "p", "id": "f"}`), equal: true},
		{name: "a password of another peer", one: change(t, "folders.f", password(nora)),
			other: change(t, "folders.f", password(another)), equal: true},
		{name: "a password more", one: first, other: change(t, "folders.f", password(nora))},
		{name: "the entries of two registered devices",
			one: change(t, "devices."+nora, fmt.Sprintf(`{"deviceID": %q, "name": "Nora", "addresses": ["dynamic"]}`, nora)),
			other: change(t, "devices."+another, fmt.Sprintf(`{"deviceID": %q, "name": "Max", "addresses": ["dynamic"]}`,
				another)),
			equal: true, wantOfOther: "devices.*"},
		{name: "another address",
			one:   change(t, "devices."+nora, fmt.Sprintf(`{"deviceID": %q, "addresses": ["dynamic"]}`, nora)),
			other: change(t, "devices."+another, fmt.Sprintf(`{"deviceID": %q, "addresses": ["tcp://h:1"]}`, another))},
		{name: "the entry of a stranger", one: change(t, "devices."+nora, fmt.Sprintf(`{"deviceID": %q}`, nora)),
			other: change(t, "devices."+stranger, fmt.Sprintf(`{"deviceID": %q}`, stranger)), wantOfOther: "devices." +
				stranger},
		{name: "two shares", one: change(t, "folders.f.devices."+nora, ""),
			other: change(t, "folders.f.devices."+another, ""),
			equal: true, wantOfOther: "folders.f.devices.*"},
		{name: "one that returns", one: first, other: first, prepare: func(c *plan.Change) { c.Returns = true }},
		{name: "one that is refused", one: first, other: first, prepare: func(c *plan.Change) { c.Class = plan.Refused }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.prepare != nil {
				tc.prepare(&tc.other)
			}
			if got := g.Equal(tc.one) == g.Equal(tc.other); got != tc.equal {
				t.Errorf("got equal %t, want %t", got, tc.equal)
			}
			if got := g.KeyOf(tc.other.Key).String(); tc.wantOfOther != "" && got != tc.wantOfOther {
				t.Errorf("got key %s, want %s", got, tc.wantOfOther)
			}
		})
	}
	if other := (plan.Grouping{Key: []byte("another"),
		Registered: g.Registered}); other.Equal(first) == g.Equal(first) {
		t.Error("the digest is not keyed: a secret could be guessed from it")
	}
}

func TestWhatAnUndoConsentsTo(t *testing.T) {
	removal := change(t, "folders.f", `{"id": "f"}`)
	removal.Returns, removal.Class = true, plan.Held
	back := plan.Change{Key: removal.Key, To: removal.From, Returns: true, Class: plan.Held}
	free, dependent, stuck, contended := removal, removal, removal, removal
	free.Class, dependent.Dependent, stuck.OnlyKeep, contended.Stopped = plan.Free, true, true, true
	for _, tc := range []struct {
		name          string
		change        plan.Change
		undo, removes bool
	}{
		{"a folder that no template asks for", removal, true, true},
		{"a folder that a template removed", back, true, false},
		{"a folder that goes without an answer", free, false, true},
		{"one that follows another change", dependent, false, true},
		{"one that can only be kept", stuck, false, true},
		{"one that a person takes back again and again", contended, false, true},
		{"a template removes it", change(t, "folders.f", `{"id": "f"}`), false, true},
		{"a share", change(t, "folders.f.devices."+nora, `{}`), false, false},
		{"a path", plan.Change{Key: parseKey(t, "folders.f.path"), From: stconfig.Text("a"), Returns: true}, false, false},
		{"an option", plan.Change{Key: parseKey(t, "options.natEnabled"), From: stconfig.Text("a"), Returns: true}, false,
			false},
	} {
		if got := tc.change.UndoAnswers(); got != tc.undo {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.undo)
		}
		if got := tc.change.Removes(); got != tc.removes {
			t.Errorf("%s: got removes %t, want %t", tc.name, got, tc.removes)
		}
	}
	wish := removal.Wish()
	if wish.Keyed([]byte("a")) == wish.Keyed([]byte("b")) ||
		wish.Keyed([]byte("a")) != removal.Wish().Keyed([]byte("a")) {
		t.Error("the digest of a wish does not depend on key and wish alone")
	}
}
