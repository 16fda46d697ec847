package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func TestAnIntentThatWentWithItsDeviceIsNotVerifiedForEver(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.store.fail = func(call string) error {
			if call == "finish" {
				return fleet.NotFoundf("there is no open intent 1")
			}
			return nil
		}
		b.start()
		defer b.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		b.wantWrites(1)
		b.changed(noNAT, tmpl(3, fleet.OpSet, "options.maxSendKbps", "500"))
		time.Sleep(time.Minute)
		synctest.Wait()
		b.want("options.maxSendKbps", "500")
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(2)
	})
}

func TestAnIntentLeftOpenWentWithItsDevice(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.store.intents = []fleet.Intent{{ID: 1, Device: b.id}}
		b.store.fail = func(call string) error {
			if call == "finish" {
				return fleet.NotFoundf("there is no open intent 1")
			}
			return nil
		}
		b.start()
		defer b.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}
