package reconcile

import (
	"context"
	"slices"
	"time"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	ignoresEvery = time.Minute     // see Options.IgnoresEvery: no event announces a change of ignore patterns
	ignoresPause = 5 * time.Second // shortest time between two readings because a folder changed its state

	maxRunReads = 3 // how often read tries to read a document in one run of the daemon
)

// connection reads the daemon of one device, for one pass or for one question of a person. It records in the device's
// history what it reads.
type connection struct {
	*Engine
	id      fleet.DeviceID
	history *history
	session Session // open while the daemon is written to; nil otherwise
	unsure  bool    // The daemon may not have saved what was sent, so read also finds out its run.
}

// open opens a session, unless one is open. From then on the connection reads through the session.
func (c *connection) open(ctx context.Context) (err error) {
	if c.session == nil {
		c.session, err = c.o.Daemon.Session(ctx, c.id)
	}
	return err
}

// close ends the session.
func (c *connection) close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// newest returns the input with the newest known document. handed is the configuration that the mirror gave to the
// store a moment ago, or nil. newest reads the daemon if the mirror knows of a newer document than the store has,
// because the mirror stores documents with a delay, and if the daemon may not have saved what was sent.
func (c *connection) newest(ctx context.Context, in input, handed *fleet.ObservedConfig) (input, error) {
	if c.unsure = c.unsure || desired.AwaitSave(in.base); c.unsure && in.known.Online {
		return c.read(ctx, in)
	}
	observed, err := c.stored(ctx, handed)
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound:
		return in, errNeverRead
	case err != nil:
		return in, err
	case !c.isOvertaken(in, observed):
		return in.withDocument(c.takeMemory(ctx), observed, stconfig.Value{})
	case !in.known.Online:
		return in, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon's newest configuration is not kept yet",
			Hint: "Try again in a moment. If it lasts, look at Muster's log: its database may not take anything."}
	}
	return c.read(ctx, in)
}

// stored returns handed if it is not nil, otherwise the configuration in the store.
func (c *connection) stored(ctx context.Context, handed *fleet.ObservedConfig) (fleet.ObservedConfig, error) {
	if handed != nil {
		return *handed, nil
	}
	return c.o.Store.ObservedConfig(ctx, c.id)
}

// isOvertaken reports whether the mirror or this engine has read a newer configuration than stored, the one in the
// store.
func (c *connection) isOvertaken(in input, stored fleet.ObservedConfig) bool {
	return in.known.Unstored && stored.Digest != in.known.Digest || c.history.overtakes(stored)
}

// read returns the input with the document that the daemon has now. If the daemon may not have saved what was sent
// (unsure), read also finds out in which run of the daemon it read the document: a daemon that did not save shows the
// old document in its next run. If the daemon restarted meanwhile, read tries again, up to maxRunReads times.
func (c *connection) read(ctx context.Context, in input) (input, error) {
	if !c.unsure {
		return c.readDocument(ctx, in)
	}
	if c.session == nil {
		if err := c.open(ctx); err != nil {
			return in, err
		}
		defer c.close()
	}
	for range maxRunReads {
		before, err := c.session.Run(ctx)
		if err != nil {
			return in, err
		}
		if in, err = c.readDocument(ctx, in); err != nil {
			return in, err
		}
		after, err := c.session.Run(ctx)
		if err != nil {
			return in, err
		}
		if before == after {
			in.run = before
			return in, nil
		}
	}
	return in, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon starts anew again and again",
		Hint: "Look at the daemon's own log."}
}

func (c *connection) readDocument(ctx context.Context, in input) (input, error) {
	began := time.Now()
	var observed fleet.ObservedConfig
	var parsed stconfig.Value
	var err error
	if c.session != nil {
		observed, parsed, err = c.session.Config(ctx)
	} else {
		observed, err = c.o.Daemon.Config(ctx, c.id)
	}
	if err != nil {
		return in, err
	}
	in.run = ""
	if in, err = in.withDocument(c.takeMemory(ctx), observed, parsed); err != nil {
		return in, err
	}
	c.history.wasRead(began, observed.Digest)
	return in, nil
}

// plan makes the plan of an input, with the device's present stops, answers and ignore patterns. If fresh is true,
// plan first reads the ignore patterns of the folders for which templates set patterns.
func (c *connection) plan(ctx context.Context, in input, fresh bool) (planned, error) {
	in = in.remembering(c.history)
	if in.change != nil {
		return c.planChange(ctx, in)
	}
	f, err := c.fold(ctx, in)
	if err == nil && fresh && len(f.result.Ignores) > 0 {
		in.ignores = c.readIgnores(ctx, in, f.result.Ignores)
		f, err = c.fold(ctx, in)
	}
	if err != nil {
		return planned{input: in}, err
	}
	return c.planFolded(ctx, f)
}

// readIgnores reads the ignore patterns of those of these folders that the device has. A folder whose patterns cannot
// be read is not in the result. The history keeps the result; after Options.IgnoresEvery the patterns are due to be
// read again.
func (c *connection) readIgnores(ctx context.Context, in input, folders []string) map[string][]string {
	patterns, lack := map[string][]string{}, false
	for _, folder := range in.foldersPresent(folders) {
		lines, err := c.ignoresOf(ctx, folder)
		if err != nil {
			c.log.Info("ignore patterns not read", logkey.Device, c.id, logkey.Folder, folder, logkey.Err(err))
			lack = true
			continue
		}
		patterns[folder] = lines
	}
	c.history.putIgnores(patterns, time.Now().Add(c.o.IgnoresEvery), lack)
	return patterns
}

// compareIgnores reads the ignore patterns of the last pass again, if that is the only thing that is due. If the
// daemon still has the same patterns, the result of the last pass stays valid and no new plan is needed.
func (p *pass) compareIgnores(ctx context.Context, in input, digest string) {
	known := p.history.ignoresToCompare(digest, p.print, in.admitted.registry.Generation)
	if known == nil || !in.known.Online {
		return
	}
	for folder, lines := range known {
		if now, err := p.ignoresOf(ctx, folder); err != nil || !slices.Equal(now, lines) {
			return
		}
	}
	p.history.putIgnores(known, time.Now().Add(p.o.IgnoresEvery), false)
	p.queue.later(p.item, p.o.IgnoresEvery)
}

func (c *connection) ignoresOf(ctx context.Context, folder string) ([]string, error) {
	if c.session != nil {
		return c.session.Ignores(ctx, folder)
	}
	return c.o.Daemon.Ignores(ctx, c.id, folder)
}
