package backup

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// running runs a schedule over a folder until the test ends; failing makes each attempt fail while it is true.
func running(t *testing.T, plan Plan, failing *atomic.Bool) *Schedule {
	t.Helper()
	return runningBy(t, func() Plan { return plan }, failing)
}

func runningBy(t *testing.T, plan func() Plan, failing *atomic.Bool) *Schedule {
	t.Helper()
	s := NewSchedule(plan, func(_ context.Context, path string, _ Lock) (Made, error) {
		if failing.Load() {
			return Made{}, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the disk is full"}
		}
		at, err := time.Parse("muster-"+fileTime+".backup", filepath.Base(path))
		return Made{path, 3, at}, errors.Join(err, os.WriteFile(path, []byte("abc"), 0o600))
	}, time.Now, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	return s
}

func names(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestTheScheduleKeepsTheNewestBackups(t *testing.T) {
	folder := t.TempDir()
	for _, other := range []string{"notes.txt", "muster-old.backup", ".muster-backup-123"} {
		if err := os.WriteFile(filepath.Join(folder, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := running(t, Plan{Every: time.Hour, Folder: folder, Keep: 3}, &atomic.Bool{})
		time.Sleep(5*time.Hour + time.Minute) // of the test's own clock
		synctest.Wait()
		want := []string{"muster-20000101T030000.000Z.backup", "muster-20000101T040000.000Z.backup",
			"muster-20000101T050000.000Z.backup", "muster-old.backup", "notes.txt"}
		if got := names(t, folder); len(got) != len(want) || got[0] != want[0] || got[2] != want[2] || got[4] != want[4] {
			t.Errorf("got %v\nwant %v", got, want)
		}
		if last := s.Status().Last; filepath.Base(last.Path) != want[2] || last.Bytes != 3 || s.Impairment() != nil {
			t.Errorf("got %+v, %v", last, s.Impairment())
		}
	})
}

// A server that is started again has its backups in the folder, not in its memory.
func TestTheScheduleGoesOnAfterARestart(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		before := filepath.Join(folder, "muster-19991231T233000.000Z.backup")
		if err := os.WriteFile(before, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s := running(t, Plan{Every: time.Hour, Folder: folder, Keep: 3}, &atomic.Bool{})
		time.Sleep(29 * time.Minute)
		synctest.Wait()
		if got := names(t, folder); len(got) != 1 || s.Status().Last.Path != before {
			t.Errorf("after 59 minutes: %v, %+v", got, s.Status())
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := names(t, folder); len(got) != 2 {
			t.Errorf("after 61 minutes: %v", got)
		}
	})
}

func TestABackupThatFailsIsSaidAndTriedAgain(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		failing := &atomic.Bool{}
		s := running(t, Plan{Every: time.Hour, Folder: folder, Keep: 3}, failing)
		synctest.Wait()
		first := s.Status().Last
		failing.Store(true)
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		status := s.Status()
		if i := s.Impairment(); i == nil || i.Part != fleet.PartBackup || i.Blocking ||
			i.Reason != "the last backup failed: the disk is full" || status.Last != first {
			t.Errorf("got %+v, %+v", i, status)
		}
		failing.Store(false)
		time.Sleep(7 * time.Minute)
		synctest.Wait()
		if s.Impairment() != nil || s.Status().Last == first {
			t.Errorf("got %+v", s.Status())
		}
	})
}

// An administrator sets time and folder while the schedule runs, and takes both away again.
func TestTheScheduleFollowsAnotherPlan(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		plan := &atomic.Pointer[Plan]{}
		plan.Store(&Plan{})
		s := runningBy(t, func() Plan { return *plan.Load() }, &atomic.Bool{})
		change := func(p Plan) {
			plan.Store(&p)
			s.PlanChanged()
			synctest.Wait()
		}
		time.Sleep(time.Hour) // of the test's own clock
		if got := names(t, folder); len(got) != 0 || s.Enabled() || s.Impairment() != nil {
			t.Errorf("without a plan: %v, %v", got, s.Impairment())
		}
		change(Plan{Every: time.Hour, Keep: 3})
		if i := s.Impairment(); i == nil || s.Enabled() {
			t.Error("a time without a folder is not said")
		}
		change(Plan{Every: time.Hour, Folder: folder, Keep: 3})
		if got := names(t, folder); len(got) != 1 || !s.Enabled() {
			t.Errorf("with a plan: %v", got)
		}
		change(Plan{Every: time.Minute, Folder: folder, Keep: 3})
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if got := names(t, folder); len(got) != 2 {
			t.Errorf("with a shorter time: %v", got)
		}
		change(Plan{Folder: folder, Keep: 3})
		time.Sleep(time.Hour)
		if got := names(t, folder); len(got) != 2 || s.Impairment() != nil {
			t.Errorf("once it is switched off: %v", got)
		}
	})
}

// A backup that is dated in the future had the schedule make one after the other, and each removed the one before.
func TestABackupDatedInTheFutureHadTheScheduleRunBackToBack(t *testing.T) {
	folder := t.TempDir()
	future := []string{"muster-21000101T000000.000Z.backup", "muster-21000102T000000.000Z.backup"}
	for _, name := range future {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		made := 0
		s := NewSchedule(func() Plan { return Plan{Every: time.Hour, Folder: folder, Keep: 2} },
			func(ctx context.Context, path string, _ Lock) (Made, error) {
				if made++; made > 10 {
					<-ctx.Done()
				}
				return Made{Path: path, CreatedAt: time.Now()}, os.WriteFile(path, []byte("abc"), 0o600)
			}, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour+time.Minute)
		defer cancel()
		if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		want := []string{"muster-20000101T020000.000Z.backup", "muster-20000101T030000.000Z.backup", future[0], future[1]}
		if got := names(t, folder); made != 4 || !slices.Equal(got, want) {
			t.Errorf("%d were made, there are %v, want %v", made, got, want)
		}
	})
}

// The clock may be set back while a backup is made: then the new one is not the newest.
func TestTheBackupThatWasJustMadeIsNotRemoved(t *testing.T) {
	folder := t.TempDir()
	var clock atomic.Int64 // minutes
	create := func(_ context.Context, path string, _ Lock) (Made, error) {
		return Made{Path: path}, os.WriteFile(path, nil, 0o600)
	}
	now := func() time.Time { return time.Unix(0, 0).Add(time.Duration(clock.Load()) * time.Minute) }
	plan := func() Plan { return Plan{Every: time.Hour, Folder: folder, Keep: 1} }
	s := NewSchedule(plan, create, now, slog.New(slog.DiscardHandler))
	clock.Store(10)
	first, err := s.one(t.Context(), s.plan())
	if err != nil {
		t.Fatal(err)
	}
	clock.Store(5)
	second, err := s.one(t.Context(), s.plan())
	if err != nil {
		t.Fatal(err)
	}
	clock.Store(20)
	if err := s.removeOld(plan(), second.Path); err != nil {
		t.Fatal(err)
	}
	if got := names(t, folder); len(got) != 2 {
		t.Errorf("got %v, want %s and %s", got, filepath.Base(second.Path), filepath.Base(first.Path))
	}
}

// A stolen token of an administrator removed all backups within the hour: it set a short time and a small number.
func TestBackupsOfTheLastTimeStayBeyondTheirNumber(t *testing.T) {
	folder := t.TempDir()
	old, young := "muster-19991216T235959.000Z.backup", "muster-19991220T000000.000Z.backup"
	for _, name := range []string{old, young} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		running(t, Plan{Every: 10 * time.Minute, Folder: folder, Keep: 2, Stay: 14 * 24 * time.Hour}, &atomic.Bool{})
		time.Sleep(time.Hour + time.Minute) // of the test's own clock
		synctest.Wait()
		if got := names(t, folder); len(got) != 8 || slices.Contains(got, old) || !slices.Contains(got, young) {
			t.Errorf("got %v", got)
		}
	})
}

// A folder that the machine does not allow any more is left alone, and people are told.
func TestAScheduleThatIsHeldTouchesNothing(t *testing.T) {
	folder := t.TempDir()
	left := ".muster-backup-123"
	if err := os.WriteFile(filepath.Join(folder, left), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		held := &fleet.Impairment{Part: fleet.PartBackup, Reason: "the folder is not allowed"}
		s := running(t, Plan{Every: time.Minute, Folder: folder, Keep: 1, Held: held}, &atomic.Bool{})
		time.Sleep(time.Hour) // of the test's own clock
		if got := names(t, folder); !slices.Equal(got, []string{left}) || s.Enabled() || s.Impairment() != held {
			t.Errorf("held: got %v, %v", got, s.Impairment())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		refuse := func() error { return &fleet.Error{Code: fleet.CodeInvalid, Message: "it is a link"} }
		s := running(t, Plan{Every: time.Minute, Folder: folder, Keep: 1, Check: refuse}, &atomic.Bool{})
		synctest.Wait()
		i := s.Impairment()
		if got := names(t, folder); !slices.Equal(got, []string{left}) || i == nil ||
			i.Reason != "the last backup failed: it is a link" {
			t.Errorf("refused: got %v, %+v", got, i)
		}
	})
}
