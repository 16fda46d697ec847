package reconcile_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

const (
	proven      = "photos-x4kd"
	provenPeer  = "K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"
	provenShare = "folders." + proven + ".devices." + provenPeer
)

// needsCopies has a policy that asks for two copies, and a template that ends the only share. The peer has all data
// while isProven says so.
func needsCopies(t *testing.T) (b *bench, isProven *atomic.Bool) {
	b, isProven = newBench(t, tmpl(1, fleet.OpRemove, "folders."+proven+".devices", `"`+provenPeer+`"`)), &atomic.Bool{}
	b.copies = func(folder string) fleet.FolderCopies {
		peer, own := fleet.DeviceID(provenPeer), stconfig.SampleID
		all := []fleet.DeviceID{own, peer}
		if folder != proven {
			return fleet.FolderCopies{}
		}
		on := all[:1]
		if isProven.Load() {
			on = append(on[:1:1], nora, "E", "F")
		}
		return fleet.FolderCopies{Plain: append(all, nora, "E", "F"),
			Policies: []fleet.CopyPolicy{{Folder: proven, AtLeast: 2}},
			Shares:   map[fleet.DeviceID][]fleet.DeviceID{own: {peer, nora, "E", "F"}},
			Data:     []fleet.CopiesOf{{Owner: own, On: on, ReadAt: time.Unix(1, 0)}}}
	}
	return b, isProven
}

func TestAShareWaitsUntilEnoughIsProvenElsewhere(t *testing.T) {
	in(t, func(t *testing.T) {
		b, isProven := needsCopies(t)
		b.start()
		defer func() { b.stop() }()
		b.wantState(fleet.ConfigHeld, "would be on 1, and the policy")
		if g := b.group(); !g.Consent || len(g.Changes) != 1 || !strings.Contains(g.Changes[0].Reason, proven) {
			t.Errorf("got %+v", g)
		}
		isProven.Store(true)
		b.engine.CopiesChanged()
		time.Sleep(2 * time.Second) // in the bubble
		synctest.Wait()
		b.want(provenShare, "absent")
		b.noGroup()
	})
}

func TestAPersonMayGiveUpACopy(t *testing.T) {
	in(t, func(t *testing.T) {
		b, _ := needsCopies(t)
		b.start()
		defer func() { b.stop() }()
		b.answers(fleet.GroupAnswer{Answer: fleet.AnswerConsent})
		synctest.Wait()
		b.want(provenShare, "absent")
	})
}

// TestAnAnswerDoesNotCoverACopyThatIsLostMeanwhile covers an answer that was recorded before the change could be sent.
func TestAnAnswerDoesNotCoverACopyThatIsLostMeanwhile(t *testing.T) {
	in(t, func(t *testing.T) {
		b, _ := needsCopies(t)
		known := b.copies
		var policy atomic.Int64
		policy.Store(3)
		b.copies = func(folder string) fleet.FolderCopies {
			copies := known(folder)
			if len(copies.Data) > 0 {
				copies.Policies[0].AtLeast = int(policy.Load())
			}
			return copies
		}
		b.start()
		defer func() { b.stop() }()
		b.step = func(name string) {
			if name == reconcile.StepAfterIntent {
				t.Error("it is sent")
			}
		}
		policy.Store(4)
		b.answers(fleet.GroupAnswer{Answer: fleet.AnswerConsent})
		synctest.Wait()
		b.wantState(fleet.ConfigHeld, "asks for 4")
		if b.daemon.at(provenShare) == "absent" {
			t.Error("the share is gone")
		}
	})
}
