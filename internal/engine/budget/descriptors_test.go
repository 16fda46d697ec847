package budget

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

// all is how many descriptors are open when everything that may be open is.
func (d Descriptors) all() int {
	return ownFiles + lookupFiles + workerFiles + readFiles*(d.Reads+2) +
		d.API + d.APIReserve + d.Kept + d.Visits + d.Seconds + d.Openings
}

func TestTheSharesNeverExceedTheLimit(t *testing.T) {
	for _, cpus := range []int{1, 2, 16, 256} {
		for _, limit := range []int{192, 256, 300, 1024, 4096, 20_000, 65_536, 524_288} {
			d, err := Share(limit, cpus)
			if err != nil {
				t.Fatalf("%d files on %d CPUs: %v", limit, cpus, err)
			}
			if d.all() > limit {
				t.Errorf("%d files on %d CPUs: %d may be open: %+v", limit, cpus, d.all(), d)
			}
			if d.Reads < 4 || d.API < 16 || d.APIReserve < 4 || d.Visits < 2 || d.Seconds < 2 || d.Openings < 2 {
				t.Errorf("%d files on %d CPUs: too little for a part: %+v", limit, cpus, d)
			}
		}
	}
}

func TestMostOfALargeLimitIsForFollowingDaemons(t *testing.T) {
	d, err := Share(20_000, 2)
	if err != nil {
		t.Fatal(err)
	}
	if d.Kept < 12_000 {
		t.Errorf("%d of 20,000 files are for daemons that are followed", d.Kept)
	}
}

func TestALimitTooLowToStartWithSaysWhatToType(t *testing.T) {
	_, err := Share(leastLimit-1, 2)
	if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "127") {
		t.Errorf("got %v", err)
	}
}

func TestTheAdvisedLimitIsEnoughAndNotMore(t *testing.T) {
	for _, daemons := range []int{1, 100, 600, 20_000} {
		limit := LimitFor(daemons, 2)
		enough, err := Share(limit, 2)
		if err != nil || enough.Kept < daemons {
			t.Errorf("%d daemons: of %d files %d are followed (%v)", daemons, limit, enough.Kept, err)
		}
		if less, err := Share(limit-1, 2); err == nil && less.Kept >= daemons {
			t.Errorf("%d daemons: %d files would do, too", daemons, limit-1)
		}
	}
}
