package store

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// Two devices that came at once with the last use of a key were both let in, had only the engine counted.
func TestTheLimitsOfEnrolKeysHoldInTheTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := time.Now()
		options.Now = func() time.Time { return clock }
		s := open(t, options)
		key := enrollKey(t, s, 1, 9, "office")
		enroll := func(n int, policy fleet.EnrollmentPolicy) error {
			e := enrolling(n, key)
			e.Policy = policy
			_, err := s.EnrollDevice(t.Context(), e)
			return err
		}
		if err := enroll(1, fleet.EnrollmentPolicy{Uses: 1}); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(10 * time.Minute)
		for want, policy := range map[string]fleet.EnrollmentPolicy{
			"used up": {Uses: 1}, "expired": {Life: time.Minute}, "enrollByKey": {Off: true},
			"enrollKeyTags": {Tags: []fleet.Tag{"lab"}},
		} {
			err := enroll(2, policy)
			if fleet.CodeOf(err) != fleet.CodeForbidden || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v", want, err)
			}
		}
		if err := enroll(2, fleet.EnrollmentPolicy{Uses: 2, Life: time.Hour, Tags: []fleet.Tag{"office"}}); err != nil {
			t.Error(err)
		}
	})
}
