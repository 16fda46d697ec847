package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// An order is something that a person tells a daemon to do once. Of all orders only those that pause or resume one
// folder write the configuration; docs/adr/0034-orders-to-daemons.md and 0068-the-command-line-for-hands.md have the
// reasons.

const (
	restartLimit = 2 * time.Minute  // time for a daemon to come back
	upgradeLimit = 10 * time.Minute // time for an upgrade, with the download
	returnEvery  = 200 * time.Millisecond
	scanWait     = 10 * time.Second // how long to wait for a scan of all folders; a daemon answers when the scan is over
	scanWaitEach = 2 * time.Second  // how long to wait for one folder, if folders are scanned one by one
)

// MayOrder returns an error if no order can be given to the daemon now: conflict if Muster does not write to the
// device, unavailable if the daemon cannot be reached.
func (e *Engine) MayOrder(ctx context.Context, id fleet.DeviceID) error {
	_, _, err := e.inputForOrder(ctx, id)
	return err
}

func (e *Engine) inputForOrder(ctx context.Context, id fleet.DeviceID) (input, *connection, error) {
	in, conn, err := e.inputOfReader(ctx, id)
	switch {
	case err != nil:
		return in, nil, err
	case in.mode != fleet.ModeOn:
		why, next := in.notWritten()
		return in, nil, conflict("Muster does not write to this device: "+why, next)
	case !in.known.Online:
		return in, nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon cannot be reached now",
			Hint: "`muster status " + id.Short() + "` says why."}
	}
	return in, conn, nil
}

// notWritten returns why the mode of the device forbids Muster to write to it, and what ends that.
func (in input) notWritten() (why, next string) {
	if revoked, is := in.current.Revocations[in.id]; is {
		return "it is " + revoked.Why(), revoked.HowToEnd()
	}
	return "its mode is " + string(in.mode), plan.HowToResume
}

// connectionForOrder returns a connection with an open session, for an order to a daemon.
func (e *Engine) connectionForOrder(ctx context.Context, id fleet.DeviceID) (*connection, input, error) {
	in, conn, err := e.inputForOrder(ctx, id)
	if err == nil {
		err = conn.open(ctx)
	}
	return conn, in, err
}

// tell calls call, which gives an order to the daemon. Right before that it checks whether Muster may still write to
// the device, so that a stop takes effect at once. It returns conflict if Muster may not.
func (c *connection) tell(ctx context.Context, in input, call func() error) error {
	if !c.mayWrite(ctx, in) {
		return conflict("Muster was stopped meanwhile: the daemon was told nothing more", plan.HowToResume)
	}
	c.orderStep(StepBeforeOrder)
	defer c.orderStep(StepAfterOrder)
	return call()
}

func (e *Engine) orderStep(name string) {
	if e.o.Step != nil {
		e.o.Step(name)
	}
}

// CarryOut carries out an order on one daemon. It returns a text about the result once the daemon has done it, or has
// started a scan that takes long. A restart or an upgrade is done when the daemon answers again.
func (e *Engine) CarryOut(ctx context.Context, id fleet.DeviceID, o fleet.OrderSpec) (string, error) {
	conn, in, err := e.connectionForOrder(ctx, id)
	if err != nil {
		return "", err
	}
	defer e.queue.add(id)
	defer conn.close()
	defer e.orderStep(StepAfterCarried)
	switch o.Type {
	case fleet.OrderRestart:
		return conn.orderRestart(ctx, in)
	case fleet.OrderRescan:
		return conn.orderRescan(ctx, in, o.Folder)
	case fleet.OrderPause, fleet.OrderResume:
		if o.Folder != "" {
			return conn.orderPauseFolder(ctx, in, o.Folder, o.Type == fleet.OrderPause)
		}
		return conn.orderPause(ctx, in, o.Type == fleet.OrderPause)
	case fleet.OrderOverride, fleet.OrderRevert:
		return conn.orderFiles(ctx, in, o)
	case fleet.OrderUpgrade:
		return conn.orderUpgrade(ctx, in, o.Major)
	}
	return "", fleet.Invalidf("order", "there is no order %q", o.Type)
}

func (c *connection) orderRestart(ctx context.Context, in input) (string, error) {
	before, err := in.started()
	if err != nil {
		return "", err
	}
	if err := c.tell(ctx, in, func() error { return c.session.Restart(ctx) }); isDefinite(err) {
		return "", err
	}
	c.close()
	if err := c.awaitReturn(ctx, c.id, before, restartLimit); err != nil {
		return "", err
	}
	return "restarted, and back", nil
}

// started returns when the daemon started, as the daemon reports it; unavailable if that is not known yet. After a
// restart it is another time.
func (in input) started() (string, error) {
	if in.known.Started == "" {
		return "", &fleet.Error{Code: fleet.CodeUnavailable, Message: "it is not known since when the daemon runs",
			Hint: "Try again in a minute, when its status was read."}
	}
	return in.known.Started, nil
}

// awaitReturn waits until a daemon that was told to restart answers again. before is its start time before that
// restart.
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

// orderRescan makes the daemon scan one folder or, if folder is "", all of them; see plan.Scans.
func (c *connection) orderRescan(ctx context.Context, in input, folder string) (string, error) {
	in, paths, err := c.scans(ctx, in, folder)
	if err != nil {
		return "", err
	}
	unfinished, wait := 0, scanWait
	if len(paths) > 1 {
		wait = scanWaitEach
	}
	for _, path := range paths {
		answered := false
		err := c.tell(ctx, in, func() (err error) {
			answered, err = scan(ctx, c.session, path, wait)
			return err
		})
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

// scans returns the requests of a rescan, and the input with the document that they were made from; see plan.Scans. It
// reads the daemon where the mirror does not know what is to be scanned: a person may have added it a moment ago.
func (c *connection) scans(ctx context.Context, in input, folder string) (input, []string, error) {
	in, err := c.newest(ctx, in, nil)
	if err == nil {
		if paths, err := plan.Scans(in.doc, folder); err == nil {
			return in, paths, nil
		}
	} else if !errors.Is(err, errNeverRead) {
		return in, nil, err
	}
	if in, err = c.read(ctx, in); err != nil {
		return in, nil, err
	}
	paths, err := plan.Scans(in.doc, folder)
	return in, paths, err
}

// scan sends one request for a scan. answered is false if the daemon has not answered within wait; that is not an
// error.
func scan(ctx context.Context, to Session, path string, wait time.Duration) (answered bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = to.Write(bounded, http.MethodPost, path, nil)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// orderPause makes the daemon pause or resume the connections to all other devices. The daemon writes that into its
// configuration, where it counts as a person's edit. orderPause returns conflict if templates would undo that edit.
func (c *connection) orderPause(ctx context.Context, in input, paused bool) (string, error) {
	in, err := c.read(ctx, in)
	if err != nil {
		return "", err
	}
	changes := plan.Pausing(in.doc, c.id, paused)
	word, path := "paused", "/rest/system/pause"
	if !paused {
		word, path = "resumed", "/rest/system/resume"
	}
	if len(changes) == 0 {
		return "all connections are " + word + " already", nil
	}
	why, err := c.takenBack(ctx, in, changes, func(change stconfig.Change, is stconfig.Value) bool {
		return is.Exists() && !is.Equal(change.To)
	})
	if err != nil {
		return "", err
	}
	if why != "" {
		return "", conflict(why,
			"Change the template, or take its tag off the device. To keep Muster from writing, use `muster stop`.")
	}
	err = c.tell(ctx, in, func() error { return c.session.Write(ctx, http.MethodPost, path, nil) })
	if err != nil {
		return "", err
	}
	if in, err = c.read(ctx, in); err != nil {
		return "", err
	}
	if left := plan.Pausing(in.doc, c.id, paused); len(left) > 0 {
		return "", &fleet.Error{Code: fleet.CodeUnavailable, Hint: "Look at the daemon's own GUI.",
			Message: fmt.Sprintf("the daemon accepted the request, and %d connections are not %s", len(left), word)}
	}
	return fmt.Sprintf("%d connections %s", len(changes), word), nil
}

func (c *connection) orderUpgrade(ctx context.Context, in input, major bool) (string, error) {
	before, err := in.started()
	if err != nil {
		return "", err
	}
	release, err := c.session.Release(ctx)
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
			"Read its release notes, and allow another major version: by its box in the console, or by --major.")
	}
	err = c.tell(ctx, in, func() error { return c.session.Write(ctx, http.MethodPost, "/rest/system/upgrade", nil) })
	if isDefinite(err) {
		return "", err
	}
	c.close()
	if err := c.awaitReturn(ctx, c.id, before, upgradeLimit); err != nil {
		return "", err
	}
	return "upgraded to " + release.Newest, nil
}
