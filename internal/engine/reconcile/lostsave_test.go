package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	storage      = "K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"
	sharedByHand = "folders.photos-x4kd.devices." + storage
)

// putsBackInMemory has templates take a person's share away, and no longer. The daemon takes the share back in memory
// only, and answers in some way. It gives the share as it was, and the document that is on the disk.
func (b *bench) putsBackInMemory(answer func() error) (share string, onDisk stconfig.Value) {
	share = b.daemon.at(sharedByHand)
	b.start()
	b.changed(tmpl(1, fleet.OpRemove, "folders.photos-x4kd.devices", `["`+storage+`"]`))
	b.want(sharedByHand, "absent")
	onDisk = b.daemon.doc
	b.daemon.answersWrites(func(d *daemon, _ string) error {
		d.editLocked(sharedByHand, share)
		return answer()
	})
	b.changed()
	b.want(sharedByHand, share)
	return share, onDisk
}

// startsAnew gives the daemon the document of its disk, and another run.
func (b *bench) startsAnew(onDisk stconfig.Value) {
	b.daemon.mu.Lock()
	b.daemon.before, b.daemon.doc = nil, onDisk
	b.daemon.run++
	b.daemon.mu.Unlock()
	b.seen()
	b.later(2 * time.Minute)
}

// A share of a person's that Muster had put back, and that the daemon lost with its next start because it had not saved
// it, was counted as taken away by a person.
func TestWhatMusterHadPutBackAndTheDaemonDidNotSaveComesBackAgain(t *testing.T) {
	for name, answer := range map[string]func(b *bench) func() error{
		"the disk is full": func(*bench) func() error { return func() error { return notSaved(1) } },
		"the answer is lost": func(b *bench) func() error {
			return func() error { b.daemon.before = nil; return unreachable() }
		},
		"a crash after the answer": func(b *bench) func() error {
			return func() error {
				b.store.mu.Lock()
				defer b.store.mu.Unlock()
				b.store.fail = func(string) error { return errors.New("killed") }
				return notSaved(1)
			}
		},
		"a crash, and a start of the daemon meanwhile": func(b *bench) func() error {
			return func() error {
				b.store.mu.Lock()
				defer b.store.mu.Unlock()
				b.store.fail = func(string) error { return errors.New("killed") }
				b.daemon.run++
				return unreachable()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t)
				defer func() { b.stop() }()
				share, onDisk := b.putsBackInMemory(answer(b))
				if b.store.fail != nil {
					b.stop()
					b.store.fail = nil
					b.daemon.answersWrites(nil)
					b.start()
					b.want(sharedByHand, share)
				}
				b.startsAnew(onDisk)
				b.want(sharedByHand, share)
				b.wantState(fleet.ConfigUnmanaged, "")
			})
		})
	}
}

// What the daemon did not save is a person's as soon as they change it: it is not lost, and does not come back.
func TestWhatAPersonTakesAwayBeforeTheDaemonSavesStaysAway(t *testing.T) {
	for name, lost := range map[string]bool{"the disk is full": false, "the answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t)
				defer func() { b.stop() }()
				_, onDisk := b.putsBackInMemory(func() error {
					if lost {
						b.daemon.before = nil
						return unreachable()
					}
					return notSaved(1)
				})
				b.daemon.edit(sharedByHand, "")
				b.daemon.answersWrites(nil)
				b.seen()
				b.startsAnew(onDisk)
				b.want(sharedByHand, "absent")
				b.wantState(fleet.ConfigUnmanaged, "")
			})
		})
	}
}

// Once the daemon has saved, a later start loses nothing: who takes it away after that means it.
func TestWhatIsTakenAwayAfterTheDaemonSavedStaysAway(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		defer func() { b.stop() }()
		share, onDisk := b.putsBackInMemory(func() error { return notSaved(1) })
		b.daemon.answersWrites(nil)
		b.later(2 * time.Minute) // it is asked to save
		b.want(sharedByHand, share)
		b.startsAnew(onDisk)
		b.want(sharedByHand, "absent")
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}
