package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/wait"
)

// readOnly makes the database refuse writes until the returned function is called, also on a new connection.
func readOnly(t *testing.T, s *Store, options Options) (end func()) {
	t.Helper()
	if options.DSN == "" {
		other := must(sqliteDialect{home: options.Home}.openWrites())(t)
		if _, err := s.writer.session.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 1"); err != nil {
			t.Fatal(err)
		}
		tx := must(other.BeginTx(t.Context(), nil))(t)
		return func() {
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			_ = other.Close()
		}
	}
	var name string
	if err := s.reads.QueryRowContext(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	set := func(value string) {
		for _, text := range []string{`ALTER DATABASE "` + name + `" SET default_transaction_read_only = ` + value} {
			if _, err := s.reads.ExecContext(context.Background(), `SET default_transaction_read_only = off`); err != nil {
				t.Fatal(err)
			}
			if _, err := s.reads.ExecContext(context.Background(), text); err != nil {
				t.Fatal(err)
			}
		}
		if s.writer.session != nil {
			if _, err := s.writer.session.conn.ExecContext(context.Background(),
				`SET default_transaction_read_only = `+value); err != nil {
				t.Fatal(err)
			}
		}
	}
	set("on")
	return func() { set("off") }
}

func TestTheStopSwitchWorksWhileNothingCanBeWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		var mu sync.Mutex
		var told fleet.Committed
		options.Committed = func(c fleet.Committed) {
			mu.Lock()
			defer mu.Unlock()
			told.Merge(c)
		}
		s := open(t, options)
		d := put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), d.ID, "site", nil))(t)
		end := readOnly(t, s, options)
		mu.Lock()
		told = fleet.Committed{}
		mu.Unlock()
		for name, scope := range map[string]fleet.ModeScope{"fleet": {}, "tag": {Tag: "site"}, "device": {Device: d.ID}} {
			kept, err := s.SwitchMode(t.Context(), scope, fleet.ModeObserve)
			if err != nil || kept {
				t.Fatalf("%s: got kept %v, %v", name, kept, err)
			}
		}
		r := must(s.Registry(t.Context()))(t)
		if r.Mode != fleet.ModeObserve || r.TagModes["site"] != fleet.ModeObserve ||
			r.Devices[d.ID].Settings.Mode != fleet.ModeObserve {
			t.Errorf("got %s, %v, %s: the switch is not in force", r.Mode, r.TagModes, r.Devices[d.ID].Settings.Mode)
		}
		mu.Lock()
		if !told.Modes || !told.Devices[d.ID] {
			t.Errorf("got %+v: the engines were not told", told)
		}
		mu.Unlock()
		// The older way says so with an error, and works nevertheless.
		wantUnavailable(t, s.PutFleetMode(t.Context(), fleet.ModeOn), "in force")
		if got := must(s.FleetMode(t.Context()))(t); got != fleet.ModeOn {
			t.Errorf("got %s", got)
		}
		wantUnavailable(t, s.PutFleetMode(t.Context(), fleet.ModeObserve), "in force")
		end()
		s.keepNow(t.Context())
		if left := s.model.forced(); len(left) != 0 {
			t.Errorf("%v is not kept although the database can be written again", left)
		}
		again := must(s.load(t.Context(), pool{s.reads}))(t)
		if again.mode != fleet.ModeObserve || again.tagModes["site"] != fleet.ModeObserve ||
			again.devices[d.ID].Settings.Mode != fleet.ModeObserve {
			t.Errorf("the database has %s, %v, %s", again.mode, again.tagModes, again.devices[d.ID].Settings.Mode)
		}
	})
}

// A newer mode that was kept is not undone by an older one that waits.
func TestAnOlderSwitchDoesNotComeBack(t *testing.T) {
	t.Parallel()
	options := Options{Home: preparedHome(t), Seal: key(t, 1)}
	s := open(t, options)
	put(t, s, deviceN(1))
	end := readOnly(t, s, options)
	if kept, err := s.SwitchMode(t.Context(), fleet.ModeScope{}, fleet.ModeObserve); kept || err != nil {
		t.Fatal(kept, err)
	}
	end()
	if err := stored(s, s.PutFleetMode(t.Context(), fleet.ModeOn)); err != nil {
		t.Fatal(err)
	}
	s.keepNow(t.Context())
	if got := must(s.FleetMode(t.Context()))(t); got != fleet.ModeOn {
		t.Errorf("got %s", got)
	}
}

func TestASwitchOfNothingIsRefusedAndChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for name, test := range map[string]struct {
			scope fleet.ModeScope
			mode  fleet.Mode
			code  fleet.Code
		}{
			"unknown device": {fleet.ModeScope{Device: deviceN(1).ID}, fleet.ModeObserve, fleet.CodeNotFound},
			"unknown mode":   {fleet.ModeScope{}, "off", fleet.CodeInvalid},
			"two things":     {fleet.ModeScope{Device: deviceN(1).ID, Tag: "x"}, fleet.ModeOn, fleet.CodeInvalid},
			"no tag":         {fleet.ModeScope{Tag: "a\nb"}, fleet.ModeOn, fleet.CodeInvalid},
		} {
			if _, err := s.SwitchMode(t.Context(), test.scope, test.mode); fleet.CodeOf(err) != test.code {
				t.Errorf("%s: got %v, want %s", name, err, test.code)
			}
		}
		if got := must(s.FleetMode(t.Context()))(t); got != fleet.ModeOn {
			t.Errorf("got %s", got)
		}
	})
}

// What is in force is kept by itself once that is possible.
func TestAModeInForceIsKeptByItself(t *testing.T) {
	t.Parallel()
	options := Options{Home: preparedHome(t), Seal: key(t, 1)}
	s := open(t, options)
	put(t, s, deviceN(1))
	end := readOnly(t, s, options)
	if _, err := s.SwitchMode(t.Context(), fleet.ModeScope{}, fleet.ModeObserve); err != nil {
		t.Fatal(err)
	}
	end()
	wait.For(t, "the mode is kept", func() bool {
		return must(s.load(t.Context(), pool{s.reads}))(t).mode == fleet.ModeObserve
	})
}

// A mode waits to be kept while somebody decides otherwise. The attempt to keep it that has begun meanwhile, in the
// same batch or later, must not undo that.
func TestAModeThatIsKeptLateDoesNotUndoANewerDecision(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		site, own := fleet.ModeScope{Tag: "site"}, fleet.ModeScope{Device: d.ID}
		decide := func(scope fleet.ModeScope, mode fleet.Mode) error { // SwitchMode, with all the patience of a slow machine
			return s.keepMode(t.Context(), scope, mode, s.model.force(scope, mode))
		}
		for name, test := range map[string]struct {
			scope   fleet.ModeScope
			decide  func() error
			decided func(*fleet.Registry) fleet.Mode
		}{
			"fleet": {
				fleet.ModeScope{}, func() error { return decide(fleet.ModeScope{}, fleet.ModeObserve) },
				func(r *fleet.Registry) fleet.Mode { return r.Mode },
			},
			"tag": {
				site, func() error { return decide(site, fleet.ModeObserve) },
				func(r *fleet.Registry) fleet.Mode { return r.TagModes[site.Tag] },
			},
			"device": {
				own, func() error {
					_, err := s.PutDeviceSettings(t.Context(), d.ID, fleet.DeviceSettings{Mode: fleet.ModeObserve, AllowPlain: true},
						nil)
					return err
				}, func(r *fleet.Registry) fleet.Mode { return r.Devices[d.ID].Settings.Mode },
			},
		} {
			t.Run(name, func(t *testing.T) {
				turn := s.model.force(test.scope, fleet.ModeOn)
				release := hold(t, s)
				answers := make(chan error, 2)
				go func() { answers <- test.decide() }()
				waitQueued(t, s, 1)
				go func() { answers <- s.keepMode(t.Context(), test.scope, fleet.ModeOn, turn) }()
				waitQueued(t, s, 2)
				release()
				for range 2 {
					if err := <-answers; err != nil {
						t.Fatal(err)
					}
				}
				if err := s.keepMode(t.Context(), test.scope, fleet.ModeOn, turn); err != nil {
					t.Fatal(err)
				}
				if got := test.decided(must(s.Registry(t.Context()))(t)); got != fleet.ModeObserve {
					t.Errorf("%s is in force after observe was acknowledged as kept", got)
				}
				if left := s.model.forced(); len(left) != 0 {
					t.Errorf("%v still waits to be kept", left)
				}
			})
		}
		kept := must(s.load(t.Context(), pool{s.reads}))(t)
		if kept.mode != fleet.ModeObserve || kept.tagModes[site.Tag] != fleet.ModeObserve ||
			kept.devices[d.ID].Settings.Mode != fleet.ModeObserve {
			t.Errorf("the database has %s, %v, %s", kept.mode, kept.tagModes, kept.devices[d.ID].Settings.Mode)
		}
	})
}

// A decision ends what was in force before it, and not what was put in force while it waited for the database.
func TestASwitchOutlivesAnOlderDecision(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: preparedHome(t), Seal: key(t, 1)})
	d := put(t, s, deviceN(1))
	release := hold(t, s)
	answers := make(chan error, 2)
	site := fleet.ModeScope{Tag: "site"}
	turn := s.model.force(site, fleet.ModeOn)
	go func() { answers <- s.keepMode(t.Context(), site, fleet.ModeOn, turn) }()
	waitQueued(t, s, 1)
	go func() {
		_, err := s.PutDeviceSettings(t.Context(), d.ID, fleet.DeviceSettings{Mode: fleet.ModeOn, AllowPlain: true}, nil)
		answers <- err
	}()
	waitQueued(t, s, 2)
	s.model.force(site, fleet.ModeObserve)
	s.model.force(fleet.ModeScope{Device: d.ID}, fleet.ModeObserve)
	release()
	for range 2 {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	r := must(s.Registry(t.Context()))(t)
	if r.TagModes["site"] != fleet.ModeObserve || r.Devices[d.ID].Settings.Mode != fleet.ModeObserve {
		t.Errorf("got %v, %s: the newer switch is not in force any more", r.TagModes, r.Devices[d.ID].Settings.Mode)
	}
}

// Somebody changes another setting of a device and read it before somebody else switched its mode.
func TestAnotherSettingDecidesNothingAboutTheMode(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		own := fleet.ModeScope{Device: d.ID}
		turn := s.model.force(own, fleet.ModeObserve)
		settings := must(s.putDeviceSettings(t.Context(), d.ID, fleet.DeviceSettings{Mode: fleet.ModeOn, AllowPlain: true},
			nil))(t)
		if err := s.keepMode(t.Context(), own, fleet.ModeObserve, turn); err != nil {
			t.Fatal(err)
		}
		settings.Mode = fleet.ModeObserve
		kept := must(s.load(t.Context(), pool{s.reads}))(t)
		if got := kept.devices[d.ID].Settings; got != settings || len(s.model.forced()) != 0 {
			t.Errorf("the database has %+v, and %v waits to be kept", got, s.model.forced())
		}
	})
}

// A decision that the database refused leaves in force, and to be kept, what was.
func TestADecisionThatFailedDecidesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		own := fleet.ModeScope{Device: d.ID}
		s.model.force(own, fleet.ModeObserve)
		broken := errors.New("broken")
		_, err := write(t.Context(), s, "fail", func(t *tx) (none struct{}, err error) {
			t.decide(own, s.model.nextTurn())
			return none, broken
		})
		if !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
		if !s.keepNow(t.Context()) {
			t.Error("it was not kept")
		}
		if kept := must(s.load(t.Context(), pool{s.reads}))(t); kept.devices[d.ID].Settings.Mode != fleet.ModeObserve {
			t.Errorf("the database has %s", kept.devices[d.ID].Settings.Mode)
		}
	})
}

// who lists who set each stop, and in which second.
func who(stops []fleet.ModeStop) (out []string) {
	for _, stop := range stops {
		out = append(out, stop.By+stop.Since.UTC().Format(" 05"))
	}
	return out
}

func TestAStopKnowsSinceWhenAndByWhom(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		var second atomic.Int64
		at := func(n int64) { second.Store(n) }
		options.Now = func() time.Time { return time.Date(2030, 1, 1, 0, 0, int(second.Load()), 0, time.UTC) }
		s := open(t, options)
		id := put(t, s, deviceN(7)).ID
		as := func(name string) context.Context { return fleet.WithActor(t.Context(), name) }
		set := func(name string, n int64, scope fleet.ModeScope, mode fleet.Mode) {
			at(n)
			must(s.SwitchMode(as(name), scope, mode))(t)
		}
		set("anna", 1, fleet.ModeScope{Tag: "site"}, fleet.ModeObserve)
		set("bert", 2, fleet.ModeScope{}, fleet.ModePaused)
		set("bert", 3, fleet.ModeScope{Device: id}, fleet.ModeObserve)
		at(4)
		settings := fleet.DeviceSettings{Mode: fleet.ModeObserve, AllowPlain: true}
		must(s.PutDeviceSettings(as("carl"), id, settings, nil))(t) // another setting: the stop stays bert's
		set("dora", 5, fleet.ModeScope{}, fleet.ModePaused)         // once more: it is in force since 2
		set("dora", 6, fleet.ModeScope{Tag: "gone"}, fleet.ModeObserve)
		set("dora", 7, fleet.ModeScope{Tag: "gone"}, fleet.ModeOn)

		same := func(want ...string) {
			t.Helper()
			stops := must(s.Registry(t.Context()))(t).ModeStops()
			for i, stop := range stops {
				stops[i] = s.DatedStop(t.Context(), stop)
			}
			if got := who(stops); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		want := []string{"bert 02", "anna 01", "bert 03"}
		same(want...)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		same(want...)
		set("emil", 8, fleet.ModeScope{}, fleet.ModeObserve)
		same("emil 08", "anna 01", "bert 03")
	})
}
