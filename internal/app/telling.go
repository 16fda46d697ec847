package app

import (
	"context"
	"fmt"
	"time"

	"muster/internal/engine/notify"
	"muster/internal/engine/policy"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// auditChannelTrial is the What of the audit's entry about a channel that was tried. The entry is there before the
// trial.
const auditChannelTrial = "channel.test"

// telling answers the API about who is told of what.
type telling struct {
	*policy.Telling

	app *App
}

// Receivers returns the state of each receiver by the name of its channel.
func (t telling) Receivers() map[string]fleet.Receiver {
	states := map[string]fleet.Receiver{}
	for _, receiver := range t.app.notifier.Receivers() {
		states[receiver.Name] = receiver
	}
	return states
}

// Deliveries returns the log of a channel, the newest entry first.
func (t telling) Deliveries(ctx context.Context, channel string) ([]fleet.Delivery, error) {
	if channel != fleet.DefaultChannel && t.Now().Channel(channel) == nil {
		return nil, fleet.NotFoundf("there is no channel %q", channel)
	}
	return t.app.store.Deliveries(ctx, channel)
}

// TestChannel sends a message of trial to a channel, and returns the answer for people. Trials run one after the
// other, and each is in the audit and in the log of the channel.
func (t telling) TestChannel(ctx context.Context, name string) (string, error) {
	a, channel := t.app, t.Now().Channel(name)
	if channel == nil {
		return "", fleet.NotFoundf("there is no channel %q", name)
	}
	sender, err := a.channelSettings().Sender(*channel, refuseLocal)
	if err != nil {
		return "", err
	}
	select {
	case a.trials <- struct{}{}:
		defer func() { <-a.trials }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := a.store.Record(ctx, auditChannelTrial, name, channel.Shown()); err != nil {
		return "", err
	}
	delivery := notify.TryOne(ctx, sender)
	if err := a.store.LogDelivery(ctx, name, delivery); err != nil {
		return "", err
	}
	if !delivery.Accepted {
		return "", &fleet.Error{Code: fleet.CodeInvalid,
			Message: "the channel did not accept the message of trial: " + delivery.Answer,
			Hint:    "Correct the channel, or the receiver."}
	}
	return fmt.Sprintf("The channel %s accepted a message of trial.", name), nil
}

// channelSettings returns what the senders of channels need: the mail server, and what the machine allows.
func (a *App) channelSettings() notify.Settings {
	return a.withFlagsOfMachine(notifySettings(func(name fleet.SettingName) string { return a.policy.Of(name).Value }))
}

// checkChannel refuses a channel that nothing could be sent to.
func (a *App) checkChannel(channel fleet.Channel) error {
	_, err := a.channelSettings().Sender(channel, refuseLocal)
	return err
}

// ofSettings returns the receivers that flags and settings name, without channels.
func ofSettings(s notify.Settings) notify.Settings {
	s.Channels = nil
	return s
}

// dropUseless leaves out the channels to which nothing can be sent, and tells why. What waits for them stays.
func (a *App) dropUseless(s *notify.Settings) (held *fleet.Impairment) {
	var usable []fleet.Channel
	for _, channel := range s.Channels {
		if _, err := s.Sender(channel, refuseLocal); err != nil {
			s.Unsure = true
			held = &fleet.Impairment{Part: fleet.PartNotify,
				Reason: fmt.Sprintf("the channel %s is told nothing: %s", channel.Name, fleet.Reason(err)),
				Next:   "Correct the channel, which `muster channel list` shows, or the settings of mail."}
			continue
		}
		usable = append(usable, channel)
	}
	s.Channels = usable
	return held
}

// wholeConditions returns the problems that are of no device, and the kinds of which nothing is known now.
func (a *App) wholeConditions(ctx context.Context) (found []fleet.Condition, unreadable []fleet.ProblemKind) {
	add := func(kind fleet.ProblemKind, subject, reason, next string, since time.Time) {
		text := fleet.WaitTexts[kind]
		if reason == "" {
			reason = text.Reason
		}
		if next == "" {
			next = text.Next
		}
		found = append(found, fleet.Condition{ProblemKey: fleet.ProblemKey{Kind: kind, Subject: subject}, Reason: reason,
			Next: next, Since: since})
	}
	rollouts, err := a.runner.Rollouts(ctx)
	if err != nil {
		unreadable = append(unreadable, fleet.WaitRolloutHalted, fleet.WaitRolloutApproval)
	}
	for _, r := range rollouts {
		if cause := view.RolloutCause(r); cause == fleet.WaitRolloutHalted || cause == fleet.WaitRolloutApproval {
			add(cause, fmt.Sprintf("rollout %d", r.ID), r.Reason, r.Next, r.CreatedAt)
		}
	}
	requests, err := a.enrolled.Requests(ctx)
	if err != nil {
		unreadable = append(unreadable, fleet.WaitEnrollment)
	}
	byAddress := map[string]bool{}
	for _, asks := range requests {
		if asks.Status == fleet.EnrollmentWaiting && !byAddress[asks.Address] {
			byAddress[asks.Address] = true
			add(fleet.WaitEnrollment, "a device at "+asks.Address, "", "", asks.FirstAt)
		}
	}
	if !a.monitor.HasChecked() {
		unreadable = append(unreadable, fleet.WaitImpairment)
	}
	for _, impairment := range a.monitor.Impairments() {
		add(fleet.WaitImpairment, string(impairment.Part), impairment.Reason, impairment.Next, time.Time{})
	}
	return found, unreadable
}
