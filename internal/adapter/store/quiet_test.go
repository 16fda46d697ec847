package store

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestHowLongDevicesMayBeAwayIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		d, e := put(t, s, deviceN(1)), put(t, s, deviceN(2))
		for _, id := range []fleet.DeviceID{d.ID, e.ID} {
			must(s.TagDevice(t.Context(), id, "laptop", nil))(t)
		}
		if err := s.PutTagQuiet(t.Context(), "laptop", 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		must(s.PutDeviceSettings(t.Context(), e.ID, fleet.DeviceSettings{Mode: fleet.ModeOn, QuietAfter: time.Hour}, nil))(t)
		wantCode(t, s.PutTagQuiet(t.Context(), "laptop", -1), fleet.CodeInvalid)
		check := func(when string) {
			t.Helper()
			r := must(s.Registry(t.Context()))(t)
			if r.QuietAfter(d.ID) != 48*time.Hour || r.QuietAfter(e.ID) != time.Hour || r.QuietAfter("other") != 0 {
				t.Errorf("%s: got %v and %v", when, r.QuietAfter(d.ID), r.QuietAfter(e.ID))
			}
		}
		check("at once")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		check("after a start")
		if err := s.PutTagQuiet(t.Context(), "laptop", 0); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Registry(t.Context()))(t).QuietAfter(d.ID); got != 0 {
			t.Errorf("got %v after it was taken back", got)
		}
	})
}
