package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// What a person has a daemon do, besides changes by templates. None of it writes the configuration, except pause and
// resume, which the daemon writes itself; docs/adr/0034-what-daemons-are-told-to-do.md has the reasons.

const (
	restartLimit = 2 * time.Minute  // for a daemon to come back
	upgradeLimit = 10 * time.Minute // likewise, with the download
	returnEvery  = 200 * time.Millisecond
	scanWait     = 10 * time.Second // for the answer to a scan of everything: daemons answer when it is over
	scanWaitEach = 2 * time.Second  // for each folder, where they are scanned one by one
)

// MayAct tells whether a daemon can be told to do something now: conflict where Muster does not write to the device,
// unavailable where the daemon cannot be reached.
func (e *Engine) MayAct(ctx context.Context, id fleet.DeviceID) error {
	_, err := e.mayAct(ctx, id)
	return err
}

func (e *Engine) mayAct(ctx context.Context, id fleet.DeviceID) (*job, error) {
	j, err := e.readersJob(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case j.mode != fleet.ModeOn:
		return nil, conflict("Muster does not write to this device: its mode is "+string(j.mode), plan.HowToResume)
	case !j.known.Online:
		return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon cannot be reached now",
			Hint: "`muster status " + id.Short() + "` says why."}
	}
	return j, nil
}

// actingJob is a job with a session, for a daemon that can be told to do something now.
func (e *Engine) actingJob(ctx context.Context, id fleet.DeviceID) (*job, error) {
	j, err := e.mayAct(ctx, id)
	if err == nil {
		err = e.openSession(ctx, j)
	}
	return j, err
}

// Act has a daemon do something and answers when it has done it, with what came of it. A restart and an upgrade are
// done when the daemon answers again.
func (e *Engine) Act(ctx context.Context, id fleet.DeviceID, o fleet.ActionOrder) (string, error) {
	j, err := e.actingJob(ctx, id)
	if err != nil {
		return "", err
	}
	defer e.enqueue(id)
	defer j.closeSession()
	switch o.Action {
	case fleet.ActionRestart:
		return e.actRestart(ctx, j)
	case fleet.ActionRescan:
		return e.actRescan(ctx, j, o.Folder)
	case fleet.ActionPause:
		return e.actPause(ctx, j, true)
	case fleet.ActionResume:
		return e.actPause(ctx, j, false)
	case fleet.ActionUpgrade:
		return e.actUpgrade(ctx, j, o.Major)
	}
	return "", fleet.Invalidf("action", "there is no action %q", o.Action)
}

func (e *Engine) actRestart(ctx context.Context, j *job) (string, error) {
	before, err := j.started()
	if err != nil {
		return "", err
	}
	if err := j.session.Restart(ctx); definite(err) {
		return "", err
	}
	j.closeSession()
	if err := e.awaitReturn(ctx, j.m.id, before, restartLimit); err != nil {
		return "", err
	}
	return "restarted, and back", nil
}

// started is when the daemon started, by which a restart is recognised.
func (j *job) started() (string, error) {
	if j.known.Started == "" {
		return "", &fleet.Error{Code: fleet.CodeUnavailable, Message: "it is not known since when the daemon runs",
			Hint: "Try again in a minute, when its status was read."}
	}
	return j.known.Started, nil
}

// definite tells an error that says that the daemon did not do what it was told. After any other one it may have: a
// daemon that starts anew may close the connection before it answers.
func definite(err error) bool {
	return err != nil && (fleet.CodeOf(err) != fleet.CodeUnavailable || errors.Is(err, fleet.ErrNotSaved))
}

// awaitReturn waits until a daemon that was told to start anew answers again.
func (e *Engine) awaitReturn(ctx context.Context, id fleet.DeviceID, before string, limit time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for tick := time.NewTicker(returnEvery); ; {
		if known := e.o.Daemon.Known(id); known.Online && known.Started != "" && known.Started != before {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
			continue
		case <-bounded.Done():
			tick.Stop()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &fleet.Error{Code: fleet.CodeUnavailable,
			Message: fmt.Sprintf("the daemon was told to start anew and has not come back within %s", limit),
			Hint: "Start Syncthing on its machine: a daemon that runs with --no-restart, and without a service that starts " +
				"it again, stays down."}
	}
}

// actRescan has folders scanned. A scan of everything fails in a daemon that has a paused folder, so that the others
// are then named one by one.
func (e *Engine) actRescan(ctx context.Context, j *job, folder string) (string, error) {
	if err := e.observe(ctx, j); err != nil {
		return "", err
	}
	paths, err := plan.Scans(j.doc, folder)
	if err != nil {
		return "", err
	}
	unfinished, wait := 0, scanWait
	if len(paths) > 1 {
		wait = scanWaitEach
	}
	for _, path := range paths {
		answered, err := scan(ctx, j.session, path, wait)
		if err != nil {
			return "", err
		}
		if !answered {
			unfinished++
		}
	}
	if unfinished > 0 {
		return "told to scan; it has not answered yet, as with large folders", nil
	}
	return "scanned", nil
}

// scan sends one request for a scan. It answers false when the daemon has not answered within the wait.
func scan(ctx context.Context, to Session, path string, wait time.Duration) (answered bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = to.Write(bounded, http.MethodPost, path, nil)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// actPause has the daemon pause or resume the connections to all other devices. The daemon writes that into its
// configuration, where it counts as an edit by a person; what templates would take back is a conflict before.
func (e *Engine) actPause(ctx context.Context, j *job, paused bool) (string, error) {
	if err := e.read(ctx, j); err != nil {
		return "", err
	}
	changes := plan.Pausing(j.doc, j.m.id, paused)
	word, path := "paused", "/rest/system/pause"
	if !paused {
		word, path = "resumed", "/rest/system/resume"
	}
	if len(changes) == 0 {
		return "all connections are " + word + " already", nil
	}
	why, err := e.takenBack(ctx, j, changes, func(c stconfig.Change, is stconfig.Value) bool {
		return is.Exists() && !is.Equal(c.To)
	})
	if err != nil {
		return "", err
	}
	if why != "" {
		return "", conflict(why,
			"Change the template, or take its tag off the device. To keep Muster from writing, use `muster stop`.")
	}
	if !e.mayWrite(ctx, j) {
		return "", conflict("Muster was stopped meanwhile: nothing was sent", plan.HowToResume)
	}
	if err := j.session.Write(ctx, http.MethodPost, path, nil); err != nil {
		return "", err
	}
	if err := e.read(ctx, j); err != nil {
		return "", err
	}
	if left := plan.Pausing(j.doc, j.m.id, paused); len(left) > 0 {
		return "", &fleet.Error{Code: fleet.CodeUnavailable, Hint: "Look at the daemon's own GUI.",
			Message: fmt.Sprintf("the daemon took it, and %d connections are not %s", len(left), word)}
	}
	return fmt.Sprintf("%d connections %s", len(changes), word), nil
}

func (e *Engine) actUpgrade(ctx context.Context, j *job, major bool) (string, error) {
	before, err := j.started()
	if err != nil {
		return "", err
	}
	release, err := j.session.Release(ctx)
	switch {
	case fleet.CodeOf(err) == fleet.CodeUnavailable, fleet.CodeOf(err) == fleet.CodeNotFound:
		return "", &fleet.Error{Code: fleet.CodeConflict, Err: err,
			Message: "the daemon does not upgrade itself: " + fleet.Reason(err),
			Hint:    "Upgrade Syncthing on its machine with what installed it, usually the package manager."}
	case err != nil:
		return "", err
	case !release.Newer:
		return "has the newest release already, " + release.Running, nil
	case release.Major && !major:
		return "", conflict("the newest release, "+release.Newest+", is another major version than "+release.Running,
			"Read its release notes, and allow it with --major.")
	}
	if err := j.session.Write(ctx, http.MethodPost, "/rest/system/upgrade", nil); definite(err) {
		return "", err
	}
	j.closeSession()
	if err := e.awaitReturn(ctx, j.m.id, before, upgradeLimit); err != nil {
		return "", err
	}
	return "upgraded to " + release.Newest, nil
}
