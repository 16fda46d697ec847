package backup

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Plan says when backups are made by themselves, and where they go.
type Plan struct {
	Every  time.Duration // 0: never
	Folder string
	Keep   int // the newest; older ones are removed after each backup
	Lock   Lock
}

const (
	fileTime     = "20060102T150405.000Z" // in the names, so that their order is the order of time
	retryAtLeast = time.Second
	retryAtMost  = 10 * time.Minute
)

var fileName = regexp.MustCompile(`^muster-(\d{8}T\d{6}\.\d{3}Z)\.backup$`)

// Status is how the scheduled backups stand.
type Status struct {
	Last    Made // the newest one; the zero value: there is none
	Trouble error
	Since   time.Time // of the trouble
}

// Schedule makes backups. Which ones there are it finds in the folder, also after a restart.
type Schedule struct {
	plan   Plan
	create func(ctx context.Context, path string, lock Lock) (Made, error)
	now    func() time.Time
	log    *slog.Logger

	mu     sync.Mutex
	status Status // guarded by mu
}

// NewSchedule makes a schedule; create writes one backup and reads it back.
func NewSchedule(plan Plan, create func(ctx context.Context, path string, lock Lock) (Made, error),
	now func() time.Time, log *slog.Logger) *Schedule {
	return &Schedule{plan: plan, create: create, now: now, log: log.With(logkey.Component, "backup")}
}

// Enabled tells whether backups are made at all.
func (s *Schedule) Enabled() bool { return s.plan.Every > 0 }

// Status is how the backups stand.
func (s *Schedule) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Impairment says what is wrong with the backups; nil where nothing is.
func (s *Schedule) Impairment() *fleet.Impairment {
	status := s.Status()
	if status.Trouble == nil {
		return nil
	}
	return &fleet.Impairment{
		Part: fleet.PartBackup, Reason: "the last backup failed: " + fleet.Reason(status.Trouble),
		Next: "It is tried again by itself. Look at the folder given with --backup-to, and at the server's log.",
	}
}

// Run makes backups until ctx ends. A backup that failed is tried again after a tenth of the usual time.
func (s *Schedule) Run(ctx context.Context) error {
	for {
		timer := time.NewTimer(s.wait())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		if s.Enabled() {
			made, err := s.one(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.note(made, err)
		}
	}
}

// wait is how long it is to the next backup.
func (s *Schedule) wait() time.Duration {
	if !s.Enabled() {
		return retryAtMost
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Trouble != nil {
		return min(max(s.plan.Every/10, retryAtLeast), retryAtMost)
	}
	made, err := s.there()
	if err != nil || len(made) == 0 {
		return 0 // making one says what is wrong
	}
	s.status.Last = made[len(made)-1]
	return max(0, s.plan.Every-s.now().Sub(s.status.Last.CreatedAt))
}

func (s *Schedule) one(ctx context.Context) (Made, error) {
	s.sweep()
	name := "muster-" + s.now().UTC().Format(fileTime) + ".backup"
	made, err := s.create(ctx, filepath.Join(s.plan.Folder, name), s.plan.Lock)
	if err != nil {
		return made, err
	}
	return made, s.removeOld(made.Path)
}

func (s *Schedule) note(made Made, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		if s.status.Trouble != nil {
			s.log.Info("backups are made again")
		}
		s.status = Status{Last: made}
		s.log.Debug("backup made and read back", logkey.Path, made.Path)
	case s.status.Trouble == nil || fleet.Reason(s.status.Trouble) != fleet.Reason(err):
		s.log.Error("no backup was made", logkey.Err(err))
		s.status.Trouble, s.status.Since = err, s.now()
	}
}

// there are the backups in the folder, oldest first. Those with a date that is still to come are left out: their clock
// was wrong, or this one was set back, so that nothing is known of their order.
func (s *Schedule) there() (made []Made, err error) {
	entries, err := os.ReadDir(s.plan.Folder)
	if err != nil {
		return nil, err
	}
	now := s.now()
	for _, entry := range entries {
		parts := fileName.FindStringSubmatch(entry.Name())
		if parts == nil || !entry.Type().IsRegular() {
			continue
		}
		at, err := time.Parse(fileTime, parts[1])
		info, gone := entry.Info()
		if err == nil && gone == nil && !at.After(now) {
			made = append(made, Made{filepath.Join(s.plan.Folder, entry.Name()), info.Size(), at})
		}
	}
	slices.SortFunc(made, func(a, b Made) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return made, nil
}

// removeOld keeps the newest backups, and the one that was just made whatever the clock does.
func (s *Schedule) removeOld(justMade string) error {
	made, err := s.there()
	if err != nil {
		return err
	}
	var errs []error
	for _, old := range made[:max(0, len(made)-s.plan.Keep)] {
		if old.Path != justMade {
			errs = append(errs, os.Remove(old.Path))
		}
	}
	return errors.Join(errs...)
}

// sweep removes what a process that was killed left of a backup.
func (s *Schedule) sweep() {
	entries, err := os.ReadDir(s.plan.Folder)
	if err != nil {
		return // making a backup says what is wrong
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), tempPrefix) {
			if err := os.Remove(filepath.Join(s.plan.Folder, entry.Name())); err != nil {
				s.log.Warn("a part of a backup cannot be removed", logkey.Path, entry.Name(), logkey.Err(err))
			}
		}
	}
}
