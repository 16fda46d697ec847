package reconcile

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
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
		m := e.item(c.Device)
		m.history.mu.Lock()
		m.history.consents[c.Key] = c
		m.history.mu.Unlock()
	}
	return nil
}

// answer is a person's answer to a change.
func (e *Engine) answer(ctx context.Context, j *job, c plan.Change, answer fleet.Answer) fleet.Consent {
	now := time.Now()
	return fleet.Consent{Device: j.m.id, Key: c.Key.String(), Answer: answer, Change: e.consentDigest(j.m.id, c),
		By: fleet.ActorOf(ctx), At: now, Until: now.Add(fleet.ConsentTime)}
}

// consentDigest tells one change from another. It is kept, so it is keyed: no secret can be guessed from it. Fields
// that have the daemon's own default do not count: with an upgrade of the daemon such fields come and go.
func (e *Engine) consentDigest(id fleet.DeviceID, c plan.Change) string {
	h := hmac.New(sha256.New, e.o.DigestKey)
	h.Write([]byte("consent " + string(id) + " " + c.Key.String() + " "))
	for _, v := range []stconfig.Value{c.From, c.Sending()} {
		h.Write([]byte(plan.ValueDigest(stconfig.WithoutDefaults(c.Key, v))))
	}
	return hex.EncodeToString(h.Sum(nil))
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
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	given, ok := m.history.consents[c.Key.String()]
	return given, ok && !given.Over(time.Now()) && given.Change == e.consentDigest(m.id, c)
}

// arm has an answer count in the plans to come, in the place of an earlier one to the key.
func (m *history) arm(c fleet.Consent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endConsents(func(old fleet.Consent) bool { return old.Key == c.Key && old.ID != c.ID })
	m.consents[c.Key] = c
}

// timeConsents records whether the device can be reached. Where that cannot be kept nothing changes, and the next look
// tries again.
func (e *Engine) timeConsents(ctx context.Context, m *item, reachable bool) {
	changed := m.history.retimed(reachable, time.Now())
	if len(changed) == 0 {
		return
	}
	if err := e.o.Store.PutConsentTimes(ctx, changed); err != nil {
		e.log.Warn("times of consents not kept", logkey.Device, m.id, logkey.Err(err))
		return
	}
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	for _, c := range changed {
		if m.history.consents[c.Key].ID == c.ID {
			m.history.consents[c.Key] = c
		}
	}
}

// retimed are the consents whose times change because the device can be reached, or cannot.
func (m *history) retimed(reachable bool, now time.Time) (changed []fleet.Consent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, was := range m.consents {
		if is := was.Reachable(reachable, now); is != was && !was.Over(now) {
			changed = append(changed, is)
		}
	}
	return changed
}

// ConsentsGiven says that an undo gave devices consents.
func (e *Engine) ConsentsGiven(devices []fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range devices {
		m := e.item(id)
		m.history.mu.Lock()
		m.history.unreadConsents = true
		m.history.mu.Unlock()
		e.push(m)
	}
}

// readConsents arms the consents that an undo gave the device, so that their time runs.
func (e *Engine) readConsents(ctx context.Context, m *item) error {
	m.history.mu.Lock()
	unread := m.history.unreadConsents
	m.history.unreadConsents = false
	m.history.mu.Unlock()
	if !unread {
		return nil
	}
	_, err := e.armRecorded(ctx, m)
	if err != nil {
		m.history.mu.Lock()
		m.history.unreadConsents = true
		m.history.mu.Unlock()
	}
	return err
}

// armRecorded arms the answers that the store has and the memory has not.
func (e *Engine) armRecorded(ctx context.Context, m *item) (found bool, err error) {
	recorded, err := e.o.Store.OpenConsentsOf(ctx, m.id)
	for _, c := range recorded {
		m.history.mu.Lock()
		known := m.history.consents[c.Key].ID >= c.ID || slices.Contains(m.history.overConsents, c.ID)
		m.history.mu.Unlock()
		if !known {
			m.history.arm(c)
			found = true
		}
	}
	return found, err
}

func (m *history) hasConsents() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.consents) > 0
}

// endConsents forgets the consents that over picks; the store learns of it with closeConsents. The caller holds mu.
func (m *history) endConsents(over func(fleet.Consent) bool) {
	for key, c := range m.consents {
		if over(c) {
			delete(m.consents, key)
			m.overConsents = append(m.overConsents, c.ID)
		}
	}
}

// useConsents closes the consents to changes at some keys, durably: they are for one write.
func (a *attempt) useConsents(ctx context.Context, keys []stconfig.Key) (used []fleet.Consent, err error) {
	h := &a.j.m.history
	h.mu.Lock()
	for _, key := range keys {
		if c, ok := h.consents[key.String()]; ok {
			used = append(used, c)
		}
	}
	h.mu.Unlock()
	if len(used) == 0 {
		return nil, nil
	}
	if err := a.o.Store.CloseConsents(ctx, idsOf(used), a.intent.ID); err != nil {
		return nil, during("record that consents are used", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range used {
		delete(h.consents, c.Key)
	}
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
	h := &a.j.m.history
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range used {
		h.consents[c.Key] = c
	}
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
	m.history.mu.Lock()
	over := m.history.overConsents
	m.history.overConsents = nil
	m.history.mu.Unlock()
	if len(over) == 0 {
		return
	}
	if err := e.o.Store.EndConsents(ctx, over); err != nil {
		e.log.Warn("consents not closed", logkey.Device, m.id, logkey.Err(err))
		m.history.mu.Lock()
		m.history.overConsents = append(m.history.overConsents, over...)
		m.history.mu.Unlock()
	}
}
