package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
)

// hold keeps the writer inside a write until the returned function is called, so that others queue up behind it.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := write(context.Background(), s, "hold", func(*tx) (none struct{}, err error) {
			close(inside)
			<-leave
			return none, nil
		})
		ended <- err
	}()
	<-inside
	return sync.OnceFunc(func() {
		close(leave)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// waitQueued waits until n writes are in the queue.
func waitQueued(t *testing.T, s *Store, n int) {
	t.Helper()
	for len(s.writer.queue) < n {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Millisecond):
		}
	}
}

func TestOneFailingWriteDoesNotHurtTheOthersOfItsBatch(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		var commits []fleet.Committed
		options.Committed = func(c fleet.Committed) { commits = append(commits, c) }
		s := open(t, options)
		release := hold(t, s)
		broken := errors.New("broken")
		const each = 10
		answers := make(chan error, 4*each)
		for n := range each {
			d := deviceN(n)
			go func() {
				_, _, err := s.PutDevice(t.Context(), d, nil)
				answers <- err
			}()
			go func() { // fails after it has written
				_, err := write(t.Context(), s, "fail", func(t *tx) (none struct{}, err error) {
					_, err = t.createDevice(deviceN(100 + n))
					return none, errors.Join(err, broken)
				})
				answers <- err
			}()
			go func() { // fails in the database
				_, err := write(t.Context(), s, "fail", func(t *tx) (none struct{}, err error) {
					return none, t.exec(`INSERT INTO device_tags (device_id, tag) VALUES ('nobody', 'x')`)
				})
				answers <- err
			}()
			go func() {
				_, _, err := s.PutDevice(t.Context(), deviceN(200+n), func(*fleet.Device) error { panic("a broken condition") })
				answers <- err
			}()
		}
		waitQueued(t, s, 4*each)
		release()
		failed := 0
		for range 4 * each {
			if err := <-answers; err != nil {
				failed++
			}
		}
		if failed != 3*each {
			t.Errorf("%d writes failed, want %d", failed, 3*each)
		}
		if got := must(s.Devices(t.Context()))(t); len(got) != each {
			t.Errorf("got %d devices, want %d", len(got), each)
		}
		fresh := must(s.load(t.Context(), pool{s.reads}))(t)
		if len(fresh.devices) != each {
			t.Errorf("the database has %d devices, want %d", len(fresh.devices), each)
		}
		// All of them together were one commit.
		if len(commits) != 1 || len(commits[0].Devices) != each || !commits[0].Registry {
			t.Errorf("got commits %+v", commits)
		}
	})
}

func TestCommittedComesAfterTheCommitAndBeforeTheAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		var s *Store
		var told atomic.Int64
		options.Committed = func(c fleet.Committed) {
			fresh, err := s.load(context.Background(), pool{s.reads})
			registry, _ := s.Registry(context.Background())
			for id := range c.Devices {
				if err != nil || fresh.devices[id] == nil || registry.Devices[id] == nil {
					t.Errorf("told of %s before it is there: %v", id, err)
				}
			}
			told.Add(1)
		}
		s = open(t, options)
		for n := range 5 {
			put(t, s, deviceN(n))
			if told.Load() != int64(n+1) {
				t.Fatalf("told %d times after %d writes", told.Load(), n+1)
			}
		}
		// What changes nothing that is registered is not told.
		if err := s.Record(t.Context(), "login", "anna", ""); err != nil {
			t.Fatal(err)
		}
		_, err := s.TagDevice(t.Context(), deviceN(99).ID, "x", nil)
		wantCode(t, err, fleet.CodeNotFound)
		observe(t, s, fleet.Observation{Device: deviceN(1).ID, LastSeen: seenAt})
		if told.Load() != 5 {
			t.Errorf("told %d times, want 5", told.Load())
		}
	})
}

func TestACallerWhoseContextEndsWhileQueuedIsAnsweredAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		release := hold(t, s)
		defer release()
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error)
		go func() {
			_, _, err := s.PutDevice(ctx, deviceN(1), nil)
			answer <- err
		}()
		waitQueued(t, s, 1)
		cancel()
		err := <-answer // while the writer is still held
		wantCode(t, err, fleet.CodeUnavailable)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		release()
		put(t, s, deviceN(2)) // everything before it in the queue has been looked at
		_, err = s.Device(t.Context(), deviceN(1).ID)
		wantCode(t, err, fleet.CodeNotFound)
	})
}

func TestCloseAnswersEverythingQueued(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		release := hold(t, s)
		const queued = 50
		answers := make(chan error, queued)
		for n := range queued {
			go func() {
				_, _, err := s.PutDevice(context.Background(), deviceN(n), nil)
				answers <- err
			}()
		}
		waitQueued(t, s, queued)
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		release()
		for range queued {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		_, _, err := s.PutDevice(t.Context(), deviceN(1), nil)
		wantCode(t, err, fleet.CodeUnavailable)
		if err := s.Close(); err != nil {
			t.Errorf("closing twice: %v", err)
		}
		again := open(t, options)
		if got := must(again.Devices(t.Context()))(t); len(got) != queued {
			t.Errorf("got %d devices, want %d", len(got), queued)
		}
	})
}

func TestConcurrentWritersAllGetTheirOwnAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		var all sync.WaitGroup
		ids := make([]int64, 60)
		for n := range ids {
			all.Go(func() {
				v, err := s.CreateTemplate(t.Context(), fleet.Template{Label: fmt.Sprint(n), Op: fleet.OpSet, Text: "1"})
				if err != nil || v.Label != fmt.Sprint(n) {
					t.Errorf("got %+v, %v", v, err)
				}
				ids[n] = v.ID
				if _, err := s.TagDevice(t.Context(), d.ID, fleet.Tag(fmt.Sprint(n)), nil); err != nil {
					t.Error(err)
				}
				registry := must(s.Registry(t.Context()))(t)
				if !slices.Contains(registry.Devices[d.ID].Tags, fleet.Tag(fmt.Sprint(n))) {
					t.Errorf("tag %d was acknowledged and is not there", n)
				}
			})
		}
		all.Wait()
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) != 60 {
			t.Errorf("got %d different IDs", len(ids))
		}
		if got := must(s.Registry(t.Context()))(t); got.Generation != 120 || len(got.Devices[d.ID].Tags) != 60 {
			t.Errorf("got generation %d, %d tags", got.Generation, len(got.Devices[d.ID].Tags))
		}
	})
}
