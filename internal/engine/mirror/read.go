package mirror

import (
	"context"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// readStatus reads the status, which proves who answers. before is the previous status, or nil; readStatus returns
// errRestarted if the daemon has restarted since then.
func (w *watcher) readStatus(ctx context.Context, d Daemon, before *fleet.Status) (fleet.Status, error) {
	status, err := d.Status(ctx)
	if err != nil {
		return status, err
	}
	now := time.Now()
	status.CreatedAt, status.UpdatedAt = now, now
	w.update(func(s *Snapshot) Aspect {
		if s.Status != nil {
			status.CreatedAt = s.Status.CreatedAt
		}
		s.Status, s.LastSeen = &status, now
		return StatusChanged
	})
	proven, first := w.newlyProven(d)
	w.observe(fleet.Observation{Status: &status, Proven: proven, FirstUse: first, LastSeen: now}, false)
	if before != nil && (status.StartTime != before.StartTime || status.Uptime < before.Uptime) {
		return status, errRestarted
	}
	return status, nil
}

// readStatusAndFolders does what readStatusAgain does, then reads the folders that could not be read so far. A poll
// must not do this: an answer that is too large ends the connection, and a poll over a new connection reads the status
// first.
func (w *watcher) readStatusAndFolders(ctx context.Context, d Daemon) error {
	if err := w.readStatusAgain(ctx, d); err != nil {
		return err
	}
	return w.readSummaries(ctx, d, w.unreadFolders())
}

// readStatusAgain reads the status of a daemon that the watcher already follows, then everything that is due to be
// read together with it.
func (w *watcher) readStatusAgain(ctx context.Context, d Daemon) error {
	if _, err := w.readStatus(ctx, d, w.snapshot.Load().Status); err != nil {
		return err
	}
	if w.connectedDue {
		if err := w.readConnected(ctx, d); err != nil {
			return err
		}
	}
	if w.conflictsDue {
		if err := w.readConflicts(ctx, d); err != nil {
			return err
		}
	}
	if w.countsDue {
		if err := w.readConflictCounts(ctx, d); err != nil {
			return err
		}
	}
	if w.pendingDue {
		return w.readPending(ctx, d)
	}
	return nil
}

// newlyProven returns the certificate behind which the device has just answered; nil if that is the known one.
// firstUse reports that the device had no pin: then this certificate becomes its pin.
func (w *watcher) newlyProven(d Daemon) (certificate *fleet.Certificate, firstUse bool) {
	shown, proven := d.Shown()
	if !proven {
		return nil, false
	}
	w.update(func(s *Snapshot) Aspect {
		s.Shown = fleet.Shown{Certificate: shown, Address: s.Address, FoundBy: s.FoundBy, At: time.Now()}
		if shown.Fingerprint == s.Proven.Fingerprint && shown.Fingerprint == w.pin {
			return 0
		}
		firstUse = w.pin == ""
		w.pin, s.Proven, certificate = shown.Fingerprint, shown, &shown
		return ConnectionChanged
	})
	return certificate, firstUse
}

func (w *watcher) readVersion(ctx context.Context, d Daemon) error {
	version, err := d.Version(ctx)
	if err != nil {
		return err
	}
	if version.Directories, err = w.directories(ctx, d); err != nil {
		return err
	}
	now := time.Now()
	version.Device, version.CreatedAt, version.UpdatedAt = w.device.ID, now, now
	w.update(func(s *Snapshot) Aspect {
		if s.Version != nil {
			version.CreatedAt = s.Version.CreatedAt
		}
		s.Version, s.LastSeen = &version, now
		return StatusChanged
	})
	w.observe(fleet.Observation{Version: &version, LastSeen: now}, false)
	return nil
}

// directories returns the directories of the daemon's own files. A daemon before 2.0 names them only for a short time
// after its start, so known directories are kept until the daemon names different ones.
func (w *watcher) directories(ctx context.Context, d Daemon) ([]string, error) {
	named, err := d.Directories(ctx)
	if err != nil || len(named) > 0 {
		return named, err
	}
	s := w.snapshot.Load()
	var known []string
	if s.Version != nil {
		known = s.Version.Directories
	}
	started := s.Status.StartTime
	if started != "" && started == w.homeAsked {
		return known, nil
	}
	home, err := d.Home(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // If the daemon cannot be followed any more, the next request shows it.
		w.log.Debug("the daemon's home was not read", logkey.Err(err))
		return known, nil
	case home != "":
		known = []string{home}
	case len(known) == 0:
		w.log.Info("the daemon's home is not known: restart the daemon, and its own files are protected from templates")
	}
	w.homeAsked = started
	return known, nil
}

// readConfig reads the configuration into the snapshot. A configuration that equals the last one changes nothing,
// because daemons announce every change twice. If two readings overlap, the one whose request started later wins. If
// tell is true, ConfigObserved is called once the configuration is stored. document is the parsed configuration, or
// Absent (see Reading.Document).
func (w *watcher) readConfig(
	ctx context.Context, d ConfigReader, tell bool,
) (seen fleet.ObservedConfig, document stconfig.Value, err error) {
	read, release, err := w.configInTurn(ctx, d)
	defer release()
	if err != nil {
		return seen, document, err
	}
	sum := stconfig.SumOfText(read.document)
	reading, known := w.reading(sum)
	if !known {
		reading, err = w.m.o.Read(w.device.ID, read.document)
	}
	if err != nil {
		return seen, document, err
	}
	now := time.Now()
	seen = fleet.ObservedConfig{JSON: read.document, Digest: reading.Digest, Folders: reading.Folders,
		Paths: reading.Paths, SeenAt: now}
	w.update(func(s *Snapshot) Aspect {
		if read.began.Before(w.configBegan) {
			return 0
		}
		w.configBegan, w.configSum = read.began, sum
		changed, caughtUp := s.Digest != reading.Digest, s.Outdated
		s.Outdated = false
		s.Digest, s.Folders, s.ConfigAt, s.LastSeen, s.TooOld = reading.Digest, reading.Folders, now, now, read.tooOld
		s.Access, s.Shares, s.PausedPeers = reading.Access, reading.Shares, reading.PausedPeers
		s.ConfiguredPeers = reading.ConfiguredPeers
		switch {
		case !changed && caughtUp:
			return fleet.PlanChanged
		case !changed:
			return 0
		}
		s.Unstored = true
		s.Summaries = onlyThese(s.Summaries, reading.Folders)
		s.FailedItems = onlyThese(s.FailedItems, reading.Folders)
		s.Conflicts = onlyThese(s.Conflicts, reading.Folders)
		s.ConflictsLeftOut = onlyThese(s.ConflictsLeftOut, reading.Folders)
		s.ConflictsCounted = onlyThese(s.ConflictsCounted, reading.Folders)
		// The observation is queued under the same lock. Otherwise a watcher that replaces this one in between would
		// inherit the snapshot, and nobody would ever store the configuration.
		w.m.outbox.add(fleet.Observation{Device: w.device.ID, Config: &seen, LastSeen: now}, tell)
		return ConfigChanged | FoldersChanged
	})
	return seen, reading.Document, nil
}

// configRead is the text of a configuration, and when its request began.
type configRead struct {
	document []byte
	tooOld   bool
	began    time.Time
}

func config(ctx context.Context, d ConfigReader) (read configRead, err error) {
	read.began = time.Now()
	read.document, err = d.Config(ctx)
	if fleet.CodeOf(err) == fleet.CodeUnsupported {
		read.document, err = d.SystemConfig(ctx)
		read.tooOld = true
	}
	return read, err
}

// configInTurn reads a configuration. A parsed document takes ten times the memory of its text. So for a large one,
// configInTurn waits until no other watcher has a large one; the turn lasts until the caller calls release. If the
// texts that wait for their turn already fill maxUnread, this text is dropped, and read again when its turn comes.
func (w *watcher) configInTurn(ctx context.Context, d ConfigReader) (read configRead, release func(), err error) {
	read, err = config(ctx, d)
	size := int64(len(read.document))
	if err != nil || size <= bigDocument {
		return read, func() {}, err
	}
	again := !w.m.unread.TryAcquire(size)
	if again {
		read.document = nil
	} else {
		defer w.m.unread.Release(size)
	}
	select {
	case w.m.parsing <- struct{}{}:
		release = func() { <-w.m.parsing }
	case <-ctx.Done():
		return read, func() {}, ctx.Err()
	}
	if !again {
		return read, release, nil
	}
	if err = w.m.outbox.room(ctx); err == nil {
		read, err = config(ctx, d)
	}
	return read, release, err
}

// reading returns the current configuration as a Reading, and reports whether sum is the sum of its text. So the same
// text need not be parsed again: reconcile reads the configuration right before each write.
func (w *watcher) reading(sum stconfig.TextSum) (Reading, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.snapshot.Load()
	return Reading{Digest: s.Digest, Folders: s.Folders, Shares: s.Shares, PausedPeers: s.PausedPeers,
		ConfiguredPeers: s.ConfiguredPeers, Access: s.Access}, sum == w.configSum
}

// onlyThese returns the entries of a map that belong to these folders.
func onlyThese[T any](known map[string]T, folders []fleet.FolderLabel) map[string]T {
	if len(known) == 0 {
		return nil
	}
	kept := make(map[string]T, len(folders))
	for _, f := range folders {
		if value, ok := known[f.Folder]; ok {
			kept[f.Folder] = value
		}
	}
	return kept
}
