package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// folded are the changes of entries, given newest first, in one line each.
func folded(most int, entries ...fleet.AuditEntry) []string {
	fold := fleet.NewChangeFold(most)
	for _, e := range entries {
		if !fold.Add(e) {
			break
		}
	}
	var lines []string
	for _, c := range fold.Changes(false) {
		line := c.Who + ":"
		if c.Title != "" {
			line += fmt.Sprintf(" %q", c.Title)
		}
		for _, p := range c.Parts {
			line += " " + fleet.ActInWords(p.What, p.Count) + " <" + p.Subject + ">"
		}
		lines = append(lines, line)
	}
	return lines
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func entry(before time.Duration, who, what, subject, detail string) fleet.AuditEntry {
	return fleet.AuditEntry{At: noon.Add(-before), Who: who, What: what, Subject: subject, Detail: detail}
}

func expectLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEqualChangesOfOneMomentAreOne(t *testing.T) {
	var entries []fleet.AuditEntry
	for i := range 2000 { // each write registers a device and tags it, 10 ms after the one before
		at := time.Duration(i) * 10 * time.Millisecond
		id := fmt.Sprint("device ", i)
		entries = append(entries, entry(at, "anna", "device.tag", id, "x"), entry(at, "anna", "device.tag", id, "y"),
			entry(at, "anna", "device.create", id, ""))
	}
	entries = append(entries, entry(time.Hour, "anna", "device.create", "old", ""))
	expectLines(t, folded(12, entries...),
		"anna: 2,000 devices created <device 0> 2,000 devices tagged <device 0>", "anna: device created <old>")
}

func TestChangesOfTwoPeopleAreApart(t *testing.T) {
	expectLines(t, folded(12,
		entry(0, "anna", "device.label", "a", ""),
		entry(time.Second, "otto", "device.label", "b", ""),
		entry(2*time.Second, "anna", "device.label", "c", "")),
		"anna: 2 devices renamed <a>", "otto: device renamed <b>")
}

func TestAChangeHasTheTitleOfItsPerson(t *testing.T) {
	expectLines(t, folded(12,
		entry(0, "anna", "template.create", "3", "Slower"),
		entry(0, "anna", "fleet.change", "", "generation 7: Fewer dials: Köln"),
		entry(time.Minute, "otto", "rollout.halt", "4", `something; title: "It \"hurts\""`),
		entry(time.Hour, "otto", "fleet.change", "DEVICE", "renamed the desk")),
		`anna: "Fewer dials: Köln" template created <3>`, `otto: "It \"hurts\"" rollout halted <4>`,
		`otto: "renamed the desk" fleet changed <DEVICE>`)
}

func TestLogInsAreNoChanges(t *testing.T) {
	expectLines(t, folded(12, entry(0, "anna", "login", "", ""), entry(0, "x", "login.fail", "", ""),
		entry(0, "anna", "audit.acceptLoss", "1", ""), entry(0, "anna", "tag.delete", "x", "")),
		"anna: tag deleted <x>")
}

func TestOnlyTheNewestChangesAreGiven(t *testing.T) {
	fold := fleet.NewChangeFold(2)
	whats := []string{"tag.delete", "user.create", "token.create", "tag.delete"}
	for i, what := range whats {
		if !fold.Add(entry(time.Duration(i)*time.Second, "anna", what, fmt.Sprint(i), "")) {
			t.Fatalf("%s is not read, and may belong to a change that is given", what)
		}
	}
	if fold.Add(entry(time.Hour, "anna", "tag.delete", "x", "")) {
		t.Error("an entry of an hour ago is read")
	}
	changes := fold.Changes(true)
	if len(changes) != 2 || changes[0].Parts[0].Count != 2 || !changes[0].More || changes[1].More {
		t.Errorf("got %+v", changes)
	}
}

func TestActsInWords(t *testing.T) {
	for _, one := range []struct {
		what string
		n    int
		want string
	}{
		{"device.pause", 1, "connections of a device paused"}, {"device.pause", 12, "connections of 12 devices paused"},
		{"device.pinned", 2000, "2,000 devices pinned"}, {"rollout.undo", 1, "rollout undone"},
		{"setting.put", 3, "3 settings stored"},
		{"device.readKey", 2, "API keys of 2 devices read"}, {"pending.accept", 2, "2 requests let in"},
		{"unheard.of", 1, "unheard of"}, {"restore", 1, "restore"},
	} {
		if got := fleet.ActInWords(one.what, one.n); got != one.want {
			t.Errorf("%d %s: got %q, want %q", one.n, one.what, got, one.want)
		}
	}
}
