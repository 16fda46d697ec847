package reconcile

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// A consent is a record: it is durable before it is acted on, is for one change of one key, and is used once. What was
// not used because Muster ended goes out after the next start. It ends when the change is another, when the person was
// told that their apply failed, or after a day in which the device could be reached. The time in which Muster did not
// run counts as the time before it: whether the device could be reached then is recorded with the consent.
//
// An intent uses a consent right before the write that carries the change. Where a crash, a lost answer or a failed
// read back follows, the read back decides whether the change was made: one that is not there may have been made and
// taken back by a person, who is asked again. A write that was answered with 5xx was not done: its consent counts on.

// ConsentStore keeps people's answers.
type ConsentStore interface {
	PutConsents(ctx context.Context, consents []fleet.Consent) ([]fleet.Consent, error)
	OpenConsents(ctx context.Context) ([]fleet.Consent, error)
	OpenConsentsOf(ctx context.Context, device fleet.DeviceID) ([]fleet.Consent, error)
	// PutConsentTimes keeps Until and UnreachableSince of open consents.
	PutConsentTimes(ctx context.Context, consents []fleet.Consent) error
	// CloseConsents says that an intent used them, or with 0 that they were used and nothing had to be sent.
	CloseConsents(ctx context.Context, ids []int64, intent int64) error
	// EndConsents says that they are over without having been used. One that is closed stays so.
	EndConsents(ctx context.Context, ids []int64) error
	// ReopenConsents takes back that an intent used them.
	ReopenConsents(ctx context.Context, ids []int64, intent int64) error
	GroupConsentStore
}

// loadConsents takes over what was answered and not acted on yet.
func (e *Engine) loadConsents(ctx context.Context) error {
	open, err := e.o.Store.OpenConsents(ctx)
	if err != nil {
		return during("read consents", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range open {
		e.item(c.Device).history.answers.Put(c)
	}
	return nil
}

// answerOf fills in what an answer of a person is to: a change of the job's device.
func (e *Engine) answerOf(j *job, c plan.Change, given fleet.Consent) fleet.Consent {
	given.Device, given.Key, given.Change = j.m.id, c.Key.String(), c.ConsentDigest(j.m.id, e.o.DigestKey)
	given.Until = time.Now().Add(fleet.ConsentTime)
	return given
}

// consented tells, for plan.Input, whether a person consented to this very change.
func (e *Engine) consented(m *item) func(plan.Change) bool {
	return func(c plan.Change) bool {
		given, ok := e.answerTo(m, c)
		return ok && given.Answer == fleet.AnswerConsent
	}
}

// answerTo is the open answer to this very change of a device.
func (e *Engine) answerTo(m *item, c plan.Change) (fleet.Consent, bool) {
	return m.history.answers.To(c.Key, c.ConsentDigest(m.id, e.o.DigestKey))
}

// timeConsents records whether the device can be reached. Where that cannot be kept nothing changes, and the next look
// tries again.
func (e *Engine) timeConsents(ctx context.Context, m *item, reachable bool) {
	changed := m.history.answers.Retimed(reachable, time.Now())
	if len(changed) == 0 {
		return
	}
	if err := e.o.Store.PutConsentTimes(ctx, changed); err != nil {
		e.log.Warn("times of consents not kept", logkey.Device, m.id, logkey.Err(err))
		return
	}
	m.history.answers.PutTimes(changed)
}

// readConsents arms the consents that an undo gave the device, so that their time runs.
func (e *Engine) readConsents(ctx context.Context, m *item) error {
	if !m.history.answers.SetUnread(false) {
		return nil
	}
	_, err := e.armRecorded(ctx, m)
	if err != nil {
		m.history.answers.SetUnread(true)
	}
	return err
}

// armRecorded arms the answers that the store has and the memory has not.
func (e *Engine) armRecorded(ctx context.Context, m *item) (found bool, err error) {
	recorded, err := e.o.Store.OpenConsentsOf(ctx, m.id)
	for _, c := range recorded {
		if !m.history.answers.Knows(c) {
			m.history.answers.Arm(c)
			found = true
		}
	}
	return found, err
}

// useConsents closes the consents to changes at some keys, durably: they are for one write.
func (a *attempt) useConsents(ctx context.Context, keys []stconfig.Key) (used []fleet.Consent, err error) {
	if used = a.j.m.history.answers.At(keys); len(used) == 0 {
		return nil, nil
	}
	if err := a.o.Store.CloseConsents(ctx, idsOf(used), a.intent.ID); err != nil {
		return nil, during("record that consents are used", err)
	}
	a.j.m.history.answers.Used(used)
	return used, nil
}

// giveBack has the consents of a write that was not done count again. Where that cannot be kept, the person is asked.
func (a *attempt) giveBack(ctx context.Context, used []fleet.Consent) {
	if len(used) == 0 {
		return
	}
	if err := a.o.Store.ReopenConsents(context.WithoutCancel(ctx), idsOf(used), a.intent.ID); err != nil {
		a.log.Warn("consents not given back", logkey.Device, a.j.m.id, logkey.Err(err))
		return
	}
	a.j.m.history.answers.Put(used...)
}

func idsOf(consents []fleet.Consent) []int64 {
	ids := make([]int64, len(consents))
	for i, c := range consents {
		ids[i] = c.ID
	}
	return ids
}

// closeConsents has the store close what is over. Where that fails it is tried with the next look.
func (e *Engine) closeConsents(ctx context.Context, m *item) {
	over := m.history.answers.Ended()
	if len(over) == 0 {
		return
	}
	if err := e.o.Store.EndConsents(ctx, over); err != nil {
		e.log.Warn("consents not closed", logkey.Device, m.id, logkey.Err(err))
		m.history.answers.NotEnded(over)
	}
}
