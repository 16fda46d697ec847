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

// A daemon that could not save the removal of a share had the share still. That was counted as a person who puts it
// back, and after the third answer the device was contended.
func TestARemovalThatTheDaemonDidNotTakeIsNotCountedAsPutBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpRemove, "folders.photos-x4kd.devices", `["`+storage+`"]`))
		b.daemon.answersWrites(func(*daemon, string) error {
			return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon could not answer (500): disk full"}
		})
		b.start()
		defer b.stop()
		b.later(10 * time.Minute)
		b.wantState(fleet.ConfigPending, "disk full")
		b.daemon.answersWrites(nil)
		b.later(2 * time.Minute)
		b.want(sharedByHand, "absent")
		b.wantState(fleet.ConfigInSync, "")
	})
}

// A person had set a key back once. Each further attempt that the daemon refused counted as once more, and after the
// third one the device was contended.
func TestAWriteThatIsRefusedAgainCountsAPersonsEditOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		b.want("options.natEnabled", "false")
		b.daemon.answersWrites(func(*daemon, string) error {
			return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon could not answer (500): disk full"}
		})
		b.daemon.edit("options.natEnabled", "true")
		b.seen()
		b.later(10 * time.Minute)
		b.wantState(fleet.ConfigPending, "disk full")
		b.daemon.answersWrites(nil)
		b.later(2 * time.Minute)
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
	})
}
