package rollout

import (
	"context"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// waitingFor has a rollout that waits for an approval by another person than made the change.
func waitingFor(t *testing.T, madeBy string) *daemons {
	t.Helper()
	o := testTimes
	o.ApprovalThreshold.Devices, o.FourEyes = 12, true
	d := newDaemons(t, 14, o, option)
	d.store.users = map[string]fleet.User{
		"anna": {Name: "anna"}, "nora": {Name: "nora", AccessGivenAt: t0.Add(-time.Hour)},
		"late": {Name: "late", AccessGivenAt: t0.Add(time.Second)}, "left": {Name: "left", DisabledAt: t0},
		"once": {Name: "once", AccessGivenAt: t0}}
	d.store.tagTemplate(1, "all", true)
	d.store.changes[0].By, d.store.changes[0].At = madeBy, t0
	d.changed()
	return d
}

// as is the context of a request by a user or a token of a person.
func as(name, person string) context.Context {
	return fleet.WithPerson(fleet.WithActor(context.Background(), name), person)
}

func TestAnotherPersonApproves(t *testing.T) {
	d := waitingFor(t, "anna")
	for _, c := range []struct{ name, person, says string }{
		{"anna", "anna", "anna made the change"},
		{"x", "anna", `anna, who owns the token "x", made the change`},
		{"admin-token", "", `not known which person "admin-token" is`},
		{"y", "gone", `gone owns the token "y", and is disabled or no user`},
		{"z", "left", `left owns the token "z", and is disabled or no user`},
		{"late", "late", "late was created, or was given a password"},
		{"once", "once", "once was created, or was given a password"},
	} {
		_, err := d.runner.Approve(as(c.name, c.person), 1)
		if wantCode(t, err, fleet.CodeConflict); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %q: got %v, want %q", c.name, c.person, err, c.says)
		}
	}
	if r := d.newest(); !r.Unapproved() {
		t.Fatalf("got %+v", r)
	}
	if _, err := d.runner.Approve(as("nora", "nora"), 1); err != nil {
		t.Fatal(err)
	}
	d.restart() // what was approved stays so
	d.after(10 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}

// A token is the person who owns it, on both sides of an approval.
func TestATokenApprovesAsItsOwner(t *testing.T) {
	d := waitingFor(t, "token of anna")
	_, err := d.runner.Approve(as("anna", "anna"), 1)
	wantCode(t, err, fleet.CodeConflict)
	if _, err := d.runner.Approve(as("ci", "nora"), 1); err != nil {
		t.Fatal(err)
	}
	if r := d.newest(); r.Unapproved() || r.Approval.By != "ci" {
		t.Errorf("got %+v", r.Approval)
	}
}

func TestAChangeOfAnUnknownPersonIsNotApprovedWithFourEyes(t *testing.T) {
	d := waitingFor(t, "")
	_, err := d.runner.Approve(as("nora", "nora"), 1)
	if wantCode(t, err, fleet.CodeConflict); err == nil || !strings.Contains(err.Error(), "generation 1 (by muster)") {
		t.Errorf("got %v", err)
	}
}
