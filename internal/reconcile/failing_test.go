package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
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
		time.Sleep(time.Minute)
		synctest.Wait()
		b.wantState(fleet.ConfigPending, "disk full")
		b.daemon.mu.Lock()
		b.daemon.before = nil
		b.daemon.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
	})
}
