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

// Plan says when Muster makes backups by itself, and in which folder.
type Plan struct {
	Every  time.Duration // 0: no scheduled backups
	Folder string
	Keep   int           // how many backups to keep; older ones are removed after each backup
	Stay   time.Duration // a backup that is younger stays, also beyond Keep; 0: Keep alone decides
	Lock   Lock
	// Held says why no backups are made now although they were asked for; nil: nothing keeps them from being made.
	Held *fleet.Impairment
	// Check is called before files are written and removed in the folder, and refuses that by an error; nil: nothing is
	// checked.
	Check func() error
}

const (
	fileTime     = "20060102T150405.000Z" // time in the files' names; sorted by name they are sorted by time
	retryAtLeast = time.Second
	retryAtMost  = 10 * time.Minute
)

var fileName = regexp.MustCompile(`^muster-(\d{8}T\d{6}\.\d{3}Z)\.backup$`)

// Status is the state of the scheduled backups.
type Status struct {
	Last    Made // the newest backup; zero when there is none
	Trouble error
	Since   time.Time // since when making backups has failed
}

// Schedule makes backups. It lists the backups in the folder, so a restart loses nothing.
type Schedule struct {
	plan    func() Plan
	create  func(ctx context.Context, path string, lock Lock) (Made, error)
	now     func() time.Time
	log     *slog.Logger
	changed chan struct{} // The plan may be another. Its capacity is 1.

	mu     sync.Mutex
	status Status // guarded by mu
}

// NewSchedule makes a schedule. It asks for the plan each time. create writes one backup and reads it back.
func NewSchedule(plan func() Plan, create func(ctx context.Context, path string, lock Lock) (Made, error),
	now func() time.Time, log *slog.Logger) *Schedule {
	return &Schedule{plan: plan, create: create, now: now, log: log.With(logkey.Component, "backup"),
		changed: make(chan struct{}, 1)}
}

// PlanChanged has the schedule ask for the plan again at once.
func (s *Schedule) PlanChanged() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Enabled reports whether backups are scheduled.
func (s *Schedule) Enabled() bool { return s.plan().isOn() }

func (p Plan) isOn() bool { return p.Held == nil && p.Every > 0 && p.lacks() == "" }

// lacks says what a plan with a time lacks to make backups; "" for nothing.
func (p Plan) lacks() string {
	if p.Every > 0 && p.Folder == "" {
		return "there is a time for backups, and no folder"
	}
	return ""
}

// Status returns the state of the scheduled backups.
func (s *Schedule) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Impairment returns what is wrong with the backups, or nil.
func (s *Schedule) Impairment() *fleet.Impairment {
	plan := s.plan()
	if plan.Held != nil {
		return plan.Held
	}
	if lacks := plan.lacks(); lacks != "" {
		return &fleet.Impairment{Part: fleet.PartBackup, Reason: lacks,
			Next: "Name one with `muster setting set backupTo DIR`, or type `muster setting set backupEvery 0`."}
	}
	status := s.Status()
	if status.Trouble == nil || !s.Enabled() {
		return nil
	}
	return &fleet.Impairment{
		Part: fleet.PartBackup, Reason: "the last backup failed: " + fleet.Reason(status.Trouble),
		Next: "It is tried again by itself. Look at the folder of the setting backupTo, and at the server's log.",
	}
}

// Run makes backups until ctx ends. It repeats a failed backup after a tenth of Plan.Every.
func (s *Schedule) Run(ctx context.Context) error {
	for {
		timer := time.NewTimer(s.wait())
		select {
		case <-timer.C:
		case <-s.changed:
			timer.Stop()
			continue
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		if plan := s.plan(); plan.isOn() {
			made, err := s.one(ctx, plan)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.note(made, err)
		}
	}
}

// wait returns the time until the next backup.
func (s *Schedule) wait() time.Duration {
	plan := s.plan()
	if !plan.isOn() {
		return retryAtMost
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Trouble != nil {
		return min(max(plan.Every/10, retryAtLeast), retryAtMost)
	}
	made, err := s.backupsIn(plan.Folder)
	if err != nil || len(made) == 0 {
		return 0 // The folder cannot be read. Making a backup reports why.
	}
	s.status.Last = made[len(made)-1]
	return max(0, plan.Every-s.now().Sub(s.status.Last.CreatedAt))
}

// one makes a backup by one plan. A plan that changes meanwhile must not have backups removed from another folder.
func (s *Schedule) one(ctx context.Context, plan Plan) (Made, error) {
	if plan.Check != nil {
		if err := plan.Check(); err != nil {
			return Made{}, err
		}
	}
	s.sweep(plan.Folder)
	name := "muster-" + s.now().UTC().Format(fileTime) + ".backup"
	made, err := s.create(ctx, filepath.Join(plan.Folder, name), plan.Lock)
	if err != nil {
		return made, err
	}
	return made, s.removeOld(plan, made.Path)
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

// backupsIn returns the backups in a folder, oldest first. It leaves out backups with a date in the future: a clock was
// wrong then or is now, so their order is unknown.
func (s *Schedule) backupsIn(folder string) (made []Made, err error) {
	entries, err := os.ReadDir(folder)
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
			made = append(made, Made{filepath.Join(folder, entry.Name()), info.Size(), at})
		}
	}
	slices.SortFunc(made, func(a, b Made) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return made, nil
}

// removeOld removes the backups that the plan does not keep. It never removes the one that was just made, even when the
// clock was set back.
func (s *Schedule) removeOld(plan Plan, justMade string) error {
	made, err := s.backupsIn(plan.Folder)
	if err != nil {
		return err
	}
	var errs []error
	for _, old := range made[:max(0, len(made)-plan.Keep)] {
		if old.Path != justMade && s.now().Sub(old.CreatedAt) >= plan.Stay {
			errs = append(errs, os.Remove(old.Path))
		}
	}
	return errors.Join(errs...)
}

// sweep removes incomplete files that a killed process left.
func (s *Schedule) sweep(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // Making a backup reports this error.
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), tempPrefix) {
			if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
				s.log.Warn("a part of a backup cannot be removed", logkey.Path, entry.Name(), logkey.Err(err))
			}
		}
	}
}
