package fleet_test

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestAConsentsTimeRunsWhileTheDeviceIsReached(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	c := fleet.Consent{Until: at(24)}
	if c.Over(at(23)) || !c.Over(at(24)) {
		t.Error("a day is not 24 hours")
	}
	c = c.Reachable(false, at(10)).Reachable(false, at(40))
	if c.Over(at(1000)) || c.UnreachableSince != at(10) {
		t.Errorf("its time ran while nothing could be sent: %+v", c)
	}
	c = c.Reachable(true, at(110)).Reachable(true, at(111))
	if c.Over(at(123)) || !c.Over(at(124)) {
		t.Errorf("14 hours were left: %+v", c)
	}
	if gone := c.Reachable(false, at(130)); !gone.Over(at(130)) {
		t.Error("one that was over came back")
	}
}

func TestAConsentThatEndedUnusedIsClosedAndNotUsed(t *testing.T) {
	ended := time.Unix(1_700_000_000, 0)
	for want, c := range map[fleet.ConsentState]fleet.GivenConsent{
		fleet.ConsentOpen:   {},
		fleet.ConsentUsed:   {Closed: ended, Used: true},
		fleet.ConsentClosed: {Closed: ended},
	} {
		if got := c.State(); got != want {
			t.Errorf("%+v is %s, want %s", c, got, want)
		}
	}
}
