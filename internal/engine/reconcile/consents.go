package reconcile

import (
	"context"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// A consent is a record in the store. It is stored before Muster acts on it. It is for one change of one key, and is
// used once. If Muster ends before it used a consent, the consent is used after the next start. A consent ends if the
// change differs, if the person was told that their apply failed, or after a day in which Muster could write to the
// device. While Muster does not run, that counts as possible if it was possible before: the consent says since when it
// was not.
//
// An intent uses a consent right before the write that carries the change. After a crash, a lost answer or a failed
// read-back, the next read-back decides whether the change was made. If the daemon does not show the change, a person
// may have undone it, so the person is asked again. A write that was answered with 5xx was not done, so its consent
// stays open.

// ConsentStore keeps people's answers.
type ConsentStore interface {
	PutConsents(ctx context.Context, consents []fleet.Consent) ([]fleet.Consent, error)
	OpenConsents(ctx context.Context) ([]fleet.Consent, error)
	OpenConsentsOf(ctx context.Context, device fleet.DeviceID) ([]fleet.Consent, error)
	// PutConsentTimes stores Until and UnreachableSince of open consents.
	PutConsentTimes(ctx context.Context, consents []fleet.Consent) error
	// CloseConsents records that the intent with this ID used these consents. intent is 0 if they were used without
	// anything to send.
	CloseConsents(ctx context.Context, ids []int64, intent int64) error
	// EndConsents records that these consents ended unused. A consent that was used stays recorded as used.
	EndConsents(ctx context.Context, ids []int64) error
	// ReopenConsents opens consents again that this intent used. It is for a write that the daemon did not do.
	ReopenConsents(ctx context.Context, ids []int64, intent int64) error
	// PutGroupConsents stores, in one transaction, a person's answers that hold for all members of a rollout, and the
	// single consents (GroupConsent.Now) of those members whose changes wait already. It returns both with their IDs.
	PutGroupConsents(ctx context.Context, given []fleet.GroupConsent) ([]fleet.GroupConsent, error)
	// GroupConsents returns the answers for all members of a rollout that hold for this device now, newest first.
	GroupConsents(ctx context.Context, device fleet.DeviceID) ([]fleet.GroupConsent, error)
	// RolloutsOfDevices returns, for each device, the rollout whose answers hold for the device.
	RolloutsOfDevices(ctx context.Context) (map[fleet.DeviceID]int64, error)
}

// loadConsents loads all open answers from the store.
func (e *Engine) loadConsents(ctx context.Context) error {
	open, err := e.o.Store.OpenConsents(ctx)
	if err != nil {
		return during("read consents", err)
	}
	for _, c := range open {
		e.queue.load(c.Device, func(h *history) { h.answers.Put(c) })
	}
	return nil
}

// timeConsents records in the device's consents since when Muster can, or cannot, write to the device. Their time runs
// only while it can. If the store fails, the consents stay as they are and the next pass tries again.
func (p *pass) timeConsents(ctx context.Context, writable bool) {
	changed := p.history.answers.Retimed(writable, time.Now())
	if len(changed) == 0 {
		return
	}
	if err := p.o.Store.PutConsentTimes(ctx, changed); err != nil {
		p.log.Warn("times of consents not kept", logkey.Device, p.id, logkey.Err(err))
		return
	}
	p.history.answers.PutTimes(changed)
}

// readConsents loads the consents that the undo of a rollout gave the device, after ConsentsGiven announced them. The
// time of a consent starts to run when it is loaded.
func (p *pass) readConsents(ctx context.Context) error {
	if !p.history.answers.SetUnread(false) {
		return nil
	}
	_, err := p.armRecorded(ctx)
	if err != nil {
		p.history.answers.SetUnread(true)
	}
	return err
}

// armRecorded loads those open answers of the device from the store that this process does not know. found reports
// whether there was one.
func (p *pass) armRecorded(ctx context.Context) (found bool, err error) {
	recorded, err := p.o.Store.OpenConsentsOf(ctx, p.id)
	for _, c := range recorded {
		if !p.history.answers.Knows(c) {
			p.history.answers.Arm(c)
			found = true
		}
	}
	return found, err
}

// useConsents records in the store that this attempt's intent uses the consents to the changes of these keys. It
// returns these consents, so that giveBack can open them again.
func (a *attempt) useConsents(ctx context.Context, keys []stconfig.Key) (used []fleet.Consent, err error) {
	if used = a.history.answers.At(keys); len(used) == 0 {
		return nil, nil
	}
	if err := a.o.Store.CloseConsents(ctx, idsOf(used), a.intent.ID); err != nil {
		return nil, during("record that consents are used", err)
	}
	a.history.answers.Used(used)
	return used, nil
}

// giveBack opens the consents of a write again that the daemon did not do. If the store fails, the consents stay used,
// so the person is asked again.
func (a *attempt) giveBack(ctx context.Context, used []fleet.Consent) {
	if len(used) == 0 {
		return
	}
	if err := a.o.Store.ReopenConsents(context.WithoutCancel(ctx), idsOf(used), a.intent.ID); err != nil {
		a.log.Warn("consents not given back", logkey.Device, a.id, logkey.Err(err))
		return
	}
	a.history.answers.Put(used...)
}

func idsOf(consents []fleet.Consent) []int64 {
	ids := make([]int64, len(consents))
	for i, c := range consents {
		ids[i] = c.ID
	}
	return ids
}

// closeConsents records in the store the consents that have ended in memory. If the store fails, the next pass tries
// again.
func (p *pass) closeConsents(ctx context.Context) {
	over := p.history.answers.Ended()
	if len(over) == 0 {
		return
	}
	if err := p.o.Store.EndConsents(ctx, over); err != nil {
		p.log.Warn("consents not closed", logkey.Device, p.id, logkey.Err(err))
		p.history.answers.NotEnded(over)
	}
}

// useUnsent records that these consents are used although nothing was written for them, as for the answer "keep".
func (p *pass) useUnsent(ctx context.Context, ids []int64) {
	if err := p.o.Store.CloseConsents(ctx, ids, 0); err != nil {
		p.log.Warn("used consents not closed", logkey.Device, p.id, logkey.Err(err))
	}
	p.history.answers.EndAll(ids)
}
