package enrollment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// A key that was made for a year, for all devices and with any tag, stayed so when an administrator thought better of
// it.
func TestTheSettingsLimitKeysThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		e := newEnrollments(k)
		text, key, err := e.CreateKey(t.Context(), fleet.EnrollKey{Uses: 50, ExpiresAt: time.Now().Add(8000 * time.Hour),
			Tags: []fleet.Tag{"office", "lab"}})
		if err != nil {
			t.Fatal(err)
		}
		k.keys[0].Used = 2
		time.Sleep(2 * time.Hour)
		for _, c := range []struct {
			policy fleet.EnrollmentPolicy
			status fleet.EnrollmentStatus
			state  fleet.EnrollKeyState
			reason string
		}{
			{fleet.EnrollmentPolicy{}, fleet.EnrollmentAccepted, fleet.EnrollKeyUsable, ""},
			{fleet.EnrollmentPolicy{Life: 3 * time.Hour, Uses: 3, Tags: []fleet.Tag{"lab", "office"}},
				fleet.EnrollmentAccepted, fleet.EnrollKeyUsable, ""},
			{fleet.EnrollmentPolicy{Off: true}, fleet.EnrollmentWaiting, fleet.EnrollKeyStopped, "enrollByKey"},
			{fleet.EnrollmentPolicy{Tags: []fleet.Tag{"office"}}, fleet.EnrollmentWaiting, fleet.EnrollKeyStopped, `"lab"`},
			{fleet.EnrollmentPolicy{Life: time.Hour}, fleet.EnrollmentRefused, fleet.EnrollKeyExpired, "expired"},
			{fleet.EnrollmentPolicy{Uses: 2}, fleet.EnrollmentRefused, fleet.EnrollKeyUsedUp, "has registered 2 of 2"},
		} {
			e.o.Policy = func() fleet.EnrollmentPolicy { return c.policy }
			k.registered = nil
			got := admit(t, e, fleet.Arrival{Device: deviceN(1), Key: fleet.NewSecret(text)})
			if got.Status != c.status || !strings.Contains(got.Message, c.reason) {
				t.Errorf("%+v: got %+v", c.policy, got)
			}
			if accepted := c.status == fleet.EnrollmentAccepted; accepted != (len(k.registered) == 1) {
				t.Errorf("%+v: registered %+v", c.policy, k.registered)
			}
			if _, err := e.Recognise(t.Context(), text); (err == nil) != (c.status == fleet.EnrollmentAccepted) {
				t.Errorf("%+v: the key counts as %v", c.policy, err)
			}
			if all, err := e.Keys(t.Context()); err != nil || all[0].State(time.Now()) != c.state {
				t.Errorf("%+v: the list has %+v, %v", c.policy, all, err)
			}
		}
		if k.keys[0].ExpiresAt != key.ExpiresAt || k.keys[0].Uses != 50 {
			t.Errorf("the limits were stored: %+v", k.keys[0])
		}
	})
}

func TestAKeyThatTheSettingsWouldLimitIsNotMade(t *testing.T) {
	k := &kept{}
	e := newEnrollments(k)
	wanted := fleet.EnrollKey{Uses: 5, ExpiresAt: time.Now().Add(24 * time.Hour), Tags: []fleet.Tag{"lab"}}
	for setting, policy := range map[string]fleet.EnrollmentPolicy{
		"enrollByKey": {Off: true}, "enrollKeyUses": {Uses: 4}, "enrollKeyLife": {Life: 23 * time.Hour},
		"enrollKeyTags": {Tags: []fleet.Tag{"office"}},
	} {
		e.o.Policy = func() fleet.EnrollmentPolicy { return policy }
		_, _, err := e.CreateKey(t.Context(), wanted)
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), setting) || len(k.keys) != 0 {
			t.Errorf("%s: got %v, %+v", setting, err, k.keys)
		}
	}
	e.o.Policy = func() fleet.EnrollmentPolicy {
		return fleet.EnrollmentPolicy{Uses: 5, Life: 24 * time.Hour, Tags: []fleet.Tag{"lab"}}
	}
	if _, _, err := e.CreateKey(t.Context(), wanted); err != nil {
		t.Error(err)
	}
}
