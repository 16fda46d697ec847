package reconcile

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// restartAgain is how long a daemon that was told to restart is left alone when it says that it needs it all the same.
const restartAgain = time.Hour

// restarting is what is known of a device's need to start anew.
type restarting struct {
	asked    bool // in this process
	required bool
	toldAt   time.Time // when Muster told it to
}

// restart finds out whether the daemon has to start anew for what Muster wrote, and has it do so where that is
// allowed. It is asked after such a change, until it was started anew, and once in each process for a device with such
// keys.
func (e *Engine) restart(ctx context.Context, j *job) {
	if !j.known.Online || len(j.plan.Sendable()) > 0 || !j.mayNeedRestart() {
		return
	}
	if err := e.askRestart(ctx, j); err != nil {
		e.log.Info("not known whether the daemon has to start anew", logkey.Device, j.m.id, logkey.Err(err))
	}
}

func (j *job) mayNeedRestart() bool {
	r := j.m.history.restart
	for _, c := range j.sent {
		if plan.NeedsRestart(c.Key) {
			return true
		}
	}
	return r.required || !r.asked && slices.ContainsFunc(j.entries, func(entry fleet.BaseEntry) bool {
		key, err := stconfig.ParseKey(entry.Key)
		return err == nil && plan.NeedsRestart(key)
	})
}

func (e *Engine) askRestart(ctx context.Context, j *job) error {
	session, err := e.o.Daemon.Session(ctx, j.m.id)
	if err != nil {
		return err
	}
	defer session.Close()
	required, err := session.RestartRequired(ctx)
	if err != nil {
		return err
	}
	told := j.m.history.restart.toldAt
	again := time.Since(told) >= restartAgain
	j.m.history.restart = restarting{asked: true, required: required, toldAt: told}
	if !required || !again || !j.device.Settings.Restart || !e.mayWrite(ctx, j) {
		return nil
	}
	j.m.history.restart = restarting{asked: true, required: true, toldAt: time.Now()}
	e.log.Info("daemon is told to start anew", logkey.Device, j.m.id)
	return during("restart the daemon", session.Restart(ctx))
}

// mayWrite asks for the mode as it is at this moment: a person may have stopped Muster, or deleted the device, since
// the job began.
func (e *Engine) mayWrite(ctx context.Context, j *job) bool {
	registry, err := e.o.Store.Registry(ctx)
	return err == nil && j.isOf(registry) && registry.ModeAt(j.view.registry, j.m.id) == fleet.ModeOn
}

// isOf tells whether the device is registered still, and not anew.
func (j *job) isOf(registry *fleet.Registry) bool {
	is := registry.Devices[j.m.id]
	return is != nil && is.CreatedAt.Equal(j.device.CreatedAt)
}

// stillRegistered is not_found where the device was deleted since the job began, registered anew or not: what the job
// found out is not to be kept.
func (e *Engine) stillRegistered(ctx context.Context, j *job) error {
	registry, err := e.o.Store.Registry(ctx)
	if err == nil && !j.isOf(registry) {
		err = fleet.NotFoundf("device %s was deleted meanwhile", j.m.id)
	}
	return err
}

// restartNeeded tells whether the daemon has to start anew, and who does that.
func (j *job) restartNeeded() plan.Restart {
	r := j.m.history.restart
	switch {
	case !r.required:
		return plan.RestartNotNeeded
	case !j.device.Settings.Restart:
		return plan.RestartByPerson
	case time.Since(r.toldAt) < restartAgain:
		return plan.RestartTold
	}
	return plan.RestartDue
}
