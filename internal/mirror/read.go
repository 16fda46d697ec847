package mirror

import (
	"context"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/stconfig"
)

// readStatus reads the status, and with it who answers. With the status before it also tells a restart.
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

// readStatusAgain reads the status of a daemon that is followed, and what is pending where that is not known.
func (w *watcher) readStatusAgain(ctx context.Context, d Daemon) error {
	if _, err := w.readStatus(ctx, d, w.snapshot.Load().Status); err != nil || !w.pendingDue {
		return err
	}
	return w.readPending(ctx, d)
}

// newlyProven is the certificate behind which the device has just answered, when that is not known yet: on first use
// it is the pin.
func (w *watcher) newlyProven(d Daemon) (news *fleet.Certificate, firstUse bool) {
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
		w.pin, s.Proven, news = shown.Fingerprint, shown, &shown
		return ConnectionChanged
	})
	return news, firstUse
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

// directories are those of the daemon's own files. A daemon before 2.0 names them for a short time after its start
// only, so what is known of them stays until it names others.
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
	case err != nil: // the next request shows whether the daemon can be followed all the same
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

// readConfig reads the configuration and takes it over. One that is the same as the last is no news: daemons announce
// every change twice. Of two readings at the same time the one that was asked for later counts.
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
		w.configBegan, w.configSum, w.pausedNow = read.began, sum, reading.Paused
		changed, caughtUp := s.Digest != reading.Digest, s.Outdated
		s.Outdated = false
		s.Digest, s.Folders, s.ConfigAt, s.LastSeen, s.TooOld = reading.Digest, reading.Folders, now, now, read.tooOld
		s.Access = reading.Access
		switch {
		case !changed && caughtUp:
			return fleet.PlanChanged
		case !changed:
			return 0
		}
		s.Unkept = true
		s.Summaries = onlyThese(s.Summaries, reading.Folders)
		// In one step with the snapshot: the next watcher takes that over, and would take the configuration for kept.
		w.m.outbox.add(fleet.Observation{Device: w.device.ID, Config: &seen, LastSeen: now}, tell)
		return ConfigChanged | FoldersChanged
	})
	return seen, reading.Document, nil
}

// configRead is a configuration as it came, and when it was asked for.
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

// configInTurn reads a configuration. A big one is ten times as large once it is taken apart, so the watchers do that
// in turn, until release. Where the documents that wait for their turn take much memory already, this one is read anew
// then.
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

// reading is what the current configuration says, if it is this very text: whoever changes a daemon reads it once more
// right before.
func (w *watcher) reading(sum stconfig.TextSum) (Reading, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.snapshot.Load()
	return Reading{Digest: s.Digest, Folders: s.Folders, Paused: w.pausedNow, Access: s.Access}, sum == w.configSum
}

func onlyThese(summaries map[string]fleet.FolderSummary, folders []fleet.FolderLabel) map[string]fleet.FolderSummary {
	kept := make(map[string]fleet.FolderSummary, len(folders))
	for _, f := range folders {
		if s, ok := summaries[f.Folder]; ok {
			kept[f.Folder] = s
		}
	}
	return kept
}

// readSummaries asks for folders one by one, which is dear for the daemon. One that it cannot tell is left as it was;
// two in a row are trouble with the daemon.
func (w *watcher) readSummaries(ctx context.Context, d Daemon, folders []string) error {
	defer w.forgetFolders()
	var read []fleet.FolderSummary
	failed, paused := false, w.pausedFolders()
	for _, folder := range folders {
		w.summarised[folder] = paused[folder]
		delete(w.rested, folder)
		summary, err := d.Summary(ctx, folder)
		switch code := fleet.CodeOf(err); {
		case err == nil:
			summary.Device, summary.Folder = w.device.ID, folder
			read, failed = append(read, summary), false
		case ctx.Err() != nil:
			return ctx.Err()
		case code == fleet.CodeNotFound: // removed in between: ConfigSaved is on its way
		case code == fleet.CodeUnavailable && !failed:
			failed = true
			w.log.Debug("folder summary not read", slog.String(logkey.Folder, folder), logkey.Err(err))
		default:
			return err
		}
	}
	if len(read) == 0 {
		return nil
	}
	now := time.Now()
	w.update(func(s *Snapshot) Aspect {
		s.Summaries = cloneSummaries(s.Summaries)
		for i := range read {
			read[i].CreatedAt, read[i].UpdatedAt = now, now
			if known, ok := s.Summaries[read[i].Folder]; ok {
				read[i].CreatedAt = known.CreatedAt
			}
			s.Summaries[read[i].Folder] = read[i]
		}
		s.LastSeen = now
		return FoldersChanged
	})
	w.observe(fleet.Observation{Summaries: read, LastSeen: now}, false)
	return nil
}

// forgetFolders drops what is remembered of folders that are gone.
func (w *watcher) forgetFolders() {
	folders := w.folders()
	if len(w.summarised) <= len(folders) {
		return
	}
	before := w.summarised
	w.summarised = make(map[string]bool, len(folders))
	for _, folder := range folders {
		if paused, known := before[folder]; known {
			w.summarised[folder] = paused
		}
	}
}

// folders are those of the current configuration.
func (w *watcher) folders() []string {
	var ids []string
	for _, f := range w.snapshot.Load().Folders {
		ids = append(ids, f.Folder)
	}
	return ids
}

func (w *watcher) pausedFolders() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pausedNow
}

// changedFolders are those that have no summary yet or were paused or resumed since: a paused folder makes no events.
func (w *watcher) changedFolders() []string {
	paused, s := w.pausedFolders(), w.snapshot.Load()
	var ids []string
	for _, f := range s.Folders {
		if _, known := s.Summaries[f.Folder]; !known || paused[f.Folder] != w.summarised[f.Folder] {
			ids = append(ids, f.Folder)
		}
	}
	return ids
}
