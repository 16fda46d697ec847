package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestWhatFailsAgainAndAgainIsSaid(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.daemon.before = func(_ *daemon, call string) error {
			if strings.HasPrefix(call, "PATCH") {
				return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon could not answer (500): disk full"}
			}
			return nil
		}
		b.start()
		defer b.stop()
		b.later(time.Minute)
		b.wantState(fleet.ConfigPending, "disk full")
		b.daemon.answersWrites(nil)
		b.later(2 * time.Minute)
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
	})
}
