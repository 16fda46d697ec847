package reconcile

import (
	"context"
	"slices"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// restartAgain is the pause between two restarts of a daemon that still says that it needs one.
const restartAgain = time.Hour

// restarting is what is known about a device's need to restart.
type restarting struct {
	asked    bool      // This process has asked the daemon.
	required bool      // The daemon says that it needs a restart.
	toldAt   time.Time // when Muster told the daemon to restart
}

// restart finds out whether the daemon has to restart for what Muster wrote, and restarts it if the device's settings
// allow that. The daemon is asked after a change that may need a restart, and from then on until it has restarted. It
// is also asked once in each process if Muster has ever written a key that may need a restart.
func (p *pass) restart(ctx context.Context, now planned) {
	if !now.known.Online || len(now.plan.Sendable()) > 0 || !p.mayNeedRestart(now.input) {
		return
	}
	if err := p.askRestart(ctx, now.input); err != nil {
		p.log.Info("not known whether the daemon has to start anew", logkey.Device, p.id, logkey.Err(err))
	}
}

func (p *pass) mayNeedRestart(in input) bool {
	r := p.history.restart
	for _, c := range p.sent {
		if plan.NeedsRestart(c.Key) {
			return true
		}
	}
	return r.required || !r.asked && slices.ContainsFunc(in.base, func(entry fleet.BaseEntry) bool {
		key, err := stconfig.ParseKey(entry.Key)
		return err == nil && plan.NeedsRestart(key)
	})
}

func (p *pass) askRestart(ctx context.Context, in input) error {
	session, err := p.o.Daemon.Session(ctx, p.id)
	if err != nil {
		return err
	}
	defer session.Close()
	required, err := session.RestartRequired(ctx)
	if err != nil {
		return err
	}
	told := p.history.restart.toldAt
	again := time.Since(told) >= restartAgain
	p.history.restart = restarting{asked: true, required: required, toldAt: told}
	if !required || !again || !in.device.Settings.Restart || !p.mayWrite(ctx, in) {
		return nil
	}
	p.history.restart = restarting{asked: true, required: true, toldAt: time.Now()}
	p.log.Info("daemon is told to start anew", logkey.Device, p.id)
	return during("restart the daemon", session.Restart(ctx))
}

// restartNeeded reports whether the daemon has to restart, and who restarts it.
func (p *pass) restartNeeded(in input) plan.Restart {
	r := p.history.restart
	switch {
	case !r.required:
		return plan.RestartNotNeeded
	case !in.device.Settings.Restart:
		return plan.RestartByPerson
	case time.Since(r.toldAt) < restartAgain:
		return plan.RestartTold
	}
	return plan.RestartDue
}
