package app

import (
	"maps"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/engine/health"
	"muster/internal/engine/policy"
	"muster/internal/engine/rollout"
	"muster/internal/fleet"
)

// newPolicy makes the policy of this server. A server with simulated daemons watches waves for a shorter time, because
// their folders are up within a second.
func (a *App) newPolicy(flags map[fleet.SettingName]string) *policy.Policy {
	flags = maps.Clone(flags)
	if flags == nil {
		flags = map[fleet.SettingName]string{}
	}
	maps.Copy(flags, flagsOfSignOn(a.o.SignOn))
	maps.Copy(flags, flagsOfNotify(a.o.Notify))
	o := policy.Options{Store: a.store, Flags: flags, Try: a.trySetting, Check: a.checkSetting}
	if a.o.Demo > 0 {
		o.Defaults = map[fleet.SettingName]string{
			fleet.SettingSoak: fleet.DurationText(rollout.SimulatedSoakTime),
		}
	}
	return policy.New(o)
}

// rolloutPolicy answers what rollouts ask for.
func (a *App) rolloutPolicy() rollout.Policy {
	return rollout.Policy{
		SoakTime:          a.policy.Of(fleet.SettingSoak).Duration(),
		ProgressDeadline:  a.policy.Of(fleet.SettingProgressDeadline).Duration(),
		Waves:             a.policy.Of(fleet.SettingWavePlan).List(),
		ApprovalThreshold: a.policy.Of(fleet.SettingApproval).Threshold(),
		FourEyes:          a.policy.Of(fleet.SettingFourEyes).On(),
	}
}

// revisionsStay is how long a configuration stays at least after another took its place, unless a flag says how many
// are kept. It is the least value of keepFor: with a stolen token of an administrator nobody removes what was there
// before.
const revisionsStay = 168 * time.Hour

// retention answers how long the store keeps what it may delete.
func (a *App) retention() store.Retention {
	number := a.policy.Of(fleet.SettingKeepRevisions)
	r := store.Retention{
		Revisions: number.Number(),
		Age:       a.policy.Of(fleet.SettingKeepFor).Duration(),
		Audit:     a.policy.Of(fleet.SettingKeepAudit).Duration(),
	}
	if number.Source != fleet.SettingByFlag {
		r.Recent = revisionsStay
	}
	return r
}

func (a *App) keepEvents() time.Duration { return a.policy.Of(fleet.SettingKeepEvents).Duration() }

// sessionTimes answers when sessions of people end.
func (a *App) sessionTimes() auth.SessionTimes {
	return auth.SessionTimes{
		Idle: a.policy.Of(fleet.SettingSessionIdle).Duration(),
		Life: a.policy.Of(fleet.SettingSessionLife).Duration(),
	}
}

// troublePolicy answers what counts as trouble.
func (a *App) troublePolicy() (windows health.Windows, off []fleet.WaitCause) {
	for _, cause := range a.policy.Of(fleet.SettingTroubleOff).List() {
		off = append(off, fleet.WaitCause(cause))
	}
	return health.Windows{
		Trouble:  a.policy.Of(fleet.SettingTroubleAfter).Duration(),
		Quiet:    a.policy.Of(fleet.SettingQuietAfter).Duration(),
		Stalled:  a.policy.Of(fleet.SettingStalledAfter).Duration(),
		Disagree: a.policy.Of(fleet.SettingDisagreeAfter).Duration(),
		Stale:    a.policy.Of(fleet.SettingStaleAfter).StaleRules(),
	}, off
}

// settingsChanged informs the engines that do not ask each time.
func (a *App) settingsChanged() {
	a.store.SetRetention(a.retention())
	windows, off := a.troublePolicy()
	a.folders.SetPolicy(windows, off...)
	if registry := a.registry(); registry != nil {
		for id := range registry.Devices { // The new windows may make another state of each.
			a.changes.view(id)
			a.feed.RowChanged(id)
		}
	}
	a.backups.PlanChanged()
	a.tellReceivers()
	a.runner.Wake()
	a.engine.CopiesChanged()
}
