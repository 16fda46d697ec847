package store

import (
	"errors"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestPutDeviceCreatesThenReplaces(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)}
		options.Now = clock.now
		s := open(t, options)
		d := deviceN(1)

		first, created, err := s.PutDevice(t.Context(), d, nil)
		if err != nil || !created {
			t.Fatalf("got created %v, %v", created, err)
		}
		if want := clock.at.Truncate(time.Millisecond); !first.CreatedAt.Equal(want) || !first.UpdatedAt.Equal(want) {
			t.Fatalf("got times %v, %v; want %v", first.CreatedAt, first.UpdatedAt, want)
		}

		d.Label, d.APIKey, d.APIAddress = "renamed", fleet.NewSecret(fleet.MaskedAPIKey), ""
		for _, move := range []time.Duration{0, -time.Hour} { // neither a clock that stands nor one set back stops updatedAt
			clock.move(move)
			before := must(s.Device(t.Context(), d.ID))(t)
			second, created, err := s.PutDevice(t.Context(), d, nil)
			if err != nil || created {
				t.Fatalf("got created %v, %v", created, err)
			}
			if second.CreatedAt != first.CreatedAt || !second.UpdatedAt.After(before.UpdatedAt) {
				t.Fatalf("got times %v, %v after %v, %v", second.CreatedAt, second.UpdatedAt, before.CreatedAt, before.UpdatedAt)
			}
			if second.APIKey.Reveal() != "api-key-1" || second.Label != "renamed" || second.APIAddress != "" {
				t.Fatalf("got %+v with key %q", second, second.APIKey.Reveal())
			}
			if read := must(s.Device(t.Context(), d.ID))(t); read != second {
				t.Fatalf("read %+v, stored %+v", read, second)
			}
		}
	})
}

func TestPutDeviceKeepsTagsAndSettings(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		settings := fleet.DeviceSettings{Mode: fleet.ModeObserve, AllowPlain: true, Pin: "sha256:00", Restart: true}
		must(s.PutDeviceSettings(t.Context(), d.ID, settings, nil))(t)
		must(s.TagDevice(t.Context(), d.ID, "office", nil))(t)
		d.APIAddress = "192.0.2.99"
		put(t, s, d)
		if got := must(s.DeviceSettings(t.Context(), d.ID))(t); got != settings {
			t.Errorf("got settings %+v, want %+v", got, settings)
		}
		if got := must(s.DeviceTags(t.Context(), d.ID))(t); len(got) != 1 || got[0] != "office" {
			t.Errorf("got tags %v", got)
		}
	})
}

func TestPutDeviceRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for name, change := range map[string]func(*fleet.Device){
			"no API key":     func(d *fleet.Device) { d.APIKey = fleet.Secret{} },
			"masked API key": func(d *fleet.Device) { d.APIKey = fleet.NewSecret(fleet.MaskedAPIKey) },
			"no port":        func(d *fleet.Device) { d.APIPort = 0 },
			"bad address":    func(d *fleet.Device) { d.APIAddress = "http://here" },
			"NUL in label":   func(d *fleet.Device) { d.Label = "a\x00b" },
		} {
			d := deviceN(1)
			change(&d)
			_, _, err := s.PutDevice(t.Context(), d, nil)
			if fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("%s: got %v, want an invalid error", name, err)
			}
		}
		if devices := must(s.Devices(t.Context()))(t); len(devices) != 0 {
			t.Errorf("refused devices are there: %v", devices)
		}
	})
}

func TestConditionsAreAskedInsideTheTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		moved := &fleet.Error{Code: fleet.CodePrecondition, Message: "moved"}
		first := put(t, s, deviceN(1))

		// Of many writers who all read the same state exactly one gets through.
		const racers = 20
		results := make(chan error, racers)
		for range racers {
			go func() {
				_, _, err := s.PutDevice(t.Context(), deviceN(1), func(current *fleet.Device) error {
					if current == nil || current.UpdatedAt != first.UpdatedAt {
						return moved
					}
					return nil
				})
				results <- err
			}()
		}
		through := 0
		for range racers {
			switch err := <-results; {
			case err == nil:
				through++
			case !errors.Is(err, moved):
				t.Error(err)
			}
		}
		if through != 1 {
			t.Fatalf("%d writers got through, want 1", through)
		}

		absent := func(current *fleet.Device) error {
			if current != nil {
				return moved
			}
			return nil
		}
		if _, _, err := s.PutDevice(t.Context(), deviceN(2), absent); err != nil {
			t.Error(err)
		}
		if err := s.DeleteDevice(t.Context(), first.ID, absent); !errors.Is(err, moved) {
			t.Errorf("got %v, want the error of the condition", err)
		}
		never := func(*[]fleet.Tag) error { return moved }
		if _, err := s.TagDevice(t.Context(), first.ID, "x", never); !errors.Is(err, moved) {
			t.Errorf("got %v, want the error of the condition", err)
		}
		if tags := must(s.Tags(t.Context()))(t); len(tags) != 0 {
			t.Errorf("got tags %v", tags)
		}
	})
}

func TestDeleteDeviceForgetsAllButTheAudit(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, other := put(t, s, deviceN(1)), put(t, s, deviceN(2))
		for _, id := range []fleet.DeviceID{d.ID, other.ID} {
			must(s.TagDevice(t.Context(), id, "office", nil))(t)
			if err := s.SaveObservations(t.Context(), []fleet.Observation{fullObservation(id, "one")}); err != nil {
				t.Fatal(err)
			}
			must(s.BeginIntent(t.Context(), fleet.Intent{Device: id, Writes: []byte("[]")}, []fleet.BaseEntry{{Key: "k"}}))(t)
		}
		if err := s.DeleteDevice(t.Context(), d.ID, nil); err != nil {
			t.Fatal(err)
		}
		wantCode(t, s.DeleteDevice(t.Context(), d.ID, nil), fleet.CodeNotFound)
		_, err := s.Status(t.Context(), d.ID)
		wantCode(t, err, fleet.CodeNotFound)

		for _, table := range tablesOf(t, s) {
			if table == "audit" {
				continue
			}
			for _, row := range rowsOf(t, s, table) {
				if row.mentions(string(d.ID)) && table != "generations" { // whose causes are for people
					t.Errorf("%s still holds the device: %v", table, row)
				}
			}
		}
		// What is registered again under the same ID is another device.
		put(t, s, deviceN(1))
		if tags := must(s.DeviceTags(t.Context(), d.ID))(t); len(tags) != 0 {
			t.Errorf("got tags %v", tags)
		}
		if base := must(s.BaseEntries(t.Context(), d.ID))(t); len(base) != 0 {
			t.Errorf("got base %v", base)
		}
		if open := must(s.OpenIntents(t.Context()))(t); len(open) != 1 || open[0].Device != other.ID {
			t.Errorf("got open intents %+v", open)
		}
		var seen []string
		for _, e := range must(s.Audit(t.Context(), fleet.AuditQuery{Limit: 100}))(t) {
			if e.Subject == string(d.ID) {
				seen = append(seen, e.What)
			}
		}
		if want := 5; len(seen) != want { // create, tag, pin, delete, create
			t.Errorf("got audit %v, want %d entries", seen, want)
		}
	})
}

func TestListsAreSortedAndNeverNil(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		if got := must(s.Devices(t.Context()))(t); got == nil || len(got) != 0 {
			t.Errorf("got %v", got)
		}
		if got := must(s.Tags(t.Context()))(t); got == nil || len(got) != 0 {
			t.Errorf("got %v", got)
		}
		for n, label := range []string{"b", "a", "ä", "A", "a"} {
			d := deviceN(n)
			d.Label = label
			put(t, s, d)
			must(s.TagDevice(t.Context(), d.ID, "all", nil))(t)
		}
		for _, list := range [][]fleet.Device{must(s.Devices(t.Context()))(t),
			must(s.DevicesTagged(t.Context(), "all"))(t)} {
			for i := 1; i < len(list); i++ {
				if fleet.CompareDevices(list[i-1], list[i]) >= 0 {
					t.Errorf("%q comes before %q", list[i-1].Label, list[i].Label)
				}
			}
			if len(list) != 5 {
				t.Errorf("got %d devices", len(list))
			}
		}
		if got := must(s.DevicesTagged(t.Context(), "nobody"))(t); got == nil || len(got) != 0 {
			t.Errorf("got %v, want an empty list", got)
		}
		if got := must(s.TemplatesTagged(t.Context(), "nobody"))(t); got == nil || len(got) != 0 {
			t.Errorf("got %v, want an empty list", got)
		}
	})
}

func TestAnotherAPIKeyUndoesNothingThatWasQueuedBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for n, c := range []struct {
			name   string
			before func(d fleet.Device) error
			code   fleet.Code
			want   func(d fleet.Device) fleet.Device // nil: it is gone
		}{
			{
				"deleted", func(d fleet.Device) error { return s.DeleteDevice(t.Context(), d.ID, nil) },
				fleet.CodeNotFound, nil,
			},
			{
				"moved", func(d fleet.Device) error {
					d.Label, d.APIAddress, d.APIKey = "new label", "192.0.2.9", fleet.NewSecret(fleet.MaskedAPIKey)
					_, _, err := s.PutDevice(t.Context(), d, nil)
					return err
				},
				"", func(d fleet.Device) fleet.Device {
					d.Label, d.APIAddress, d.APIKey = "new label", "192.0.2.9", fleet.NewSecret("adopted")
					return d
				},
			},
			{
				"given another key", func(d fleet.Device) error {
					d.APIKey = fleet.NewSecret("a person's")
					_, _, err := s.PutDevice(t.Context(), d, nil)
					return err
				},
				fleet.CodeConflict, func(d fleet.Device) fleet.Device {
					d.APIKey = fleet.NewSecret("a person's")
					return d
				},
			},
		} {
			t.Run(c.name, func(t *testing.T) {
				d := put(t, s, deviceN(n))
				release := hold(t, s)
				first, second := make(chan error, 1), make(chan error, 1)
				go func() { first <- c.before(d) }()
				waitQueued(t, s, 1)
				go func() {
					second <- s.ReplaceAccess(t.Context(), d.ID, d.Access(), fleet.Access{Key: fleet.NewSecret("adopted"),
						Port: d.APIPort})
				}()
				waitQueued(t, s, 2)
				release()
				if err := <-first; err != nil {
					t.Fatal(err)
				}
				wantCode(t, <-second, c.code)
				got, err := s.Device(t.Context(), d.ID)
				if c.want == nil {
					wantCode(t, err, fleet.CodeNotFound)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := c.want(d)
				want.UpdatedAt = got.UpdatedAt
				if got != want || !got.UpdatedAt.After(d.UpdatedAt) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	})
}

// The audit named the device whose record was replaced, and not what was changed in it.
func TestTheAuditSaysWhatIsAnotherInARecord(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := deviceN(1)
		d.Label, d.APIAddress, d.APIPort = "one", "192.0.2.1", 8384
		put := func() string {
			t.Helper()
			if _, _, err := s.PutDevice(t.Context(), d, nil); err != nil {
				t.Fatal(err)
			}
			return must(s.Audit(t.Context(), fleet.AuditQuery{Limit: 1}))(t)[0].Detail
		}
		put()
		for _, c := range []struct {
			change func()
			want   string
		}{
			{func() {}, "one: nothing in it is another"},
			{func() { d.APIKey = fleet.NewSecret("second") }, "one: another API key"},
			{func() { d.Label = "two" }, `two: label "two" instead of "one"`},
			{func() { d.APIAddress, d.Label = "", "three" }, `three: label "three" instead of "two", ` +
				"address discovered instead of 192.0.2.1:8384"},
		} {
			c.change()
			if got := put(); got != c.want {
				t.Errorf("the audit says %q, want %q", got, c.want)
			}
		}
	})
}
