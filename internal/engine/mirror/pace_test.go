package mirror

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func TestPausesGrowFromASecondToAMinuteWithJitter(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		var fakes []*fake
		for n := range 20 {
			f := newFake(n)
			f.fail["status"] = errCut
			fakes = append(fakes, f)
			w.put(n, f)
		}
		pass(20 * time.Minute)
		together := map[time.Duration]int{}
		for _, f := range fakes {
			at := f.times("status")
			for i := 1; i < len(at); i++ {
				pause := at[i].Sub(at[i-1])
				if pause < time.Second || pause > time.Minute || (i > 6 && pause < 40*time.Second) ||
					(i == 1 && pause > 2*time.Second) {
					t.Fatalf("pause %d is %s", i, pause)
				}
			}
			if len(at) < 15 || len(at) > 40 {
				t.Fatalf("%d attempts in 20 minutes", len(at))
			}
			together[at[len(at)-1].Sub(at[0]).Truncate(10*time.Millisecond)]++
		}
		for at, n := range together {
			if n > 5 {
				t.Fatalf("%d of 20 came at the same moment, %s", n, at)
			}
		}
	})
}

func TestADaemonThatComesAndGoesIsNotAskedEverySecond(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		f.fail[poll] = errCut
		w.put(1, f)
		pass(10 * time.Minute)
		if n := len(f.times("config")); n > 25 {
			t.Fatalf("%d first contacts in ten minutes", n)
		}
	})
}

func TestAtMostTwoHundredNewConnectionsASecond(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		const n = 1000
		for i := range n {
			w.set(func() { w.daemons[id(i)] = newFake(i) })
		}
		began := time.Now()
		for i := range n {
			w.m.Put(device(i), false)
		}
		pass(10 * time.Second)
		perSecond := map[time.Duration]int{}
		var last time.Time
		for _, f := range w.daemons {
			at := f.times("status")[0]
			perSecond[at.Sub(began).Truncate(time.Second)]++
			if at.After(last) {
				last = at
			}
		}
		for second, count := range perSecond {
			if count > connectsASecond+connectsASecond/10 {
				t.Fatalf("%d connections in second %s", count, second)
			}
		}
		if took := last.Sub(began); took > 6*time.Second {
			t.Fatalf("a thousand devices took %s", took)
		}
	})
}

func TestAFloodOfEventsCostsOnlySoMuch(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		f.take()
		f.mu.Lock()
		for i := range 10_000 {
			f.script = append(f.script, []fleet.DaemonEvent{{ID: int64(2*i + 2), Type: "ConfigSaved"}})
		}
		f.wake()
		f.mu.Unlock()
		pass(time.Minute)
		calls := f.take()
		if len(calls) > 200 {
			t.Fatalf("%d requests in a minute", len(calls))
		}
		w.wantConnection(d, fleet.Online)
	})
}

func TestGoroutinesOfAnIdleFleet(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		before := runtime.NumGoroutine()
		const n = 500
		for i := range n {
			w.set(func() { w.daemons[id(i)] = newFake(i, "a") })
			w.m.Put(device(i), false)
		}
		pass(10 * time.Second)
		for i := range n {
			w.wantConnection(id(i), fleet.Online)
		}
		if each := float64(runtime.NumGoroutine()-before) / n; each > 2 {
			t.Fatalf("%.1f goroutines for each idle device", each)
		}
		w.stop()
		synctest.Wait()
		if left := runtime.NumGoroutine(); left > before {
			t.Fatalf("%d goroutines are left, %d before", left, before)
		}
		for _, f := range w.daemons {
			if f.closes() == 0 {
				t.Fatal("a daemon's connection was not closed")
			}
		}
	})
}
