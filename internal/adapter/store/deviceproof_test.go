package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

// pinned is a device with a pin that an administrator gave.
func (s *tampered) pinned(n int) fleet.Device {
	s.t.Helper()
	d := put(s.t, s.Store, deviceN(n))
	must(s.TrustDevice(s.t.Context(), d.ID, fmt.Sprintf("sha256:%064x", n)))(s.t)
	return d
}

// altered are the labels of the devices that are not contacted.
func (s *tampered) altered() (labels []string) {
	s.t.Helper()
	for _, device := range must(s.Registry(s.t.Context()))(s.t).Devices {
		if device.Altered {
			labels = append(labels, device.Label)
		}
	}
	slices.Sort(labels)
	return labels
}

func (s *tampered) wantAltered(when string, want ...string) {
	s.t.Helper()
	if got := s.altered(); !slices.Equal(got, want) {
		s.t.Errorf("%s: altered are %q, want %q", when, got, want)
	}
	rows := s.verify().Rows
	for _, label := range want {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, fmt.Sprintf("%q", label)) }) {
			s.t.Errorf("%s: verify does not name %s: %q", when, label, rows)
		}
	}
}

// recorded tells whether the audit says that something about a subject was tampered with.
func (s *tampered) recorded(subject string) bool {
	return slices.ContainsFunc(s.entries(), func(e fleet.AuditEntry) bool {
		return e.What == fleet.AuditTampered && e.Subject == subject
	})
}

// Who wrote to the database had the API key of a device sent to a host of their own at the next start.
func TestADeviceThatWasRedirectedInTheDatabaseIsNotContacted(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		changes := []string{"api_address = '192.0.2.66'", "api_port = 6666", "pin = 'sha256:66'",
			"pin_origin = 'firstUse'", "allow_plain = TRUE", "", "id = $2", "proof = NULL", "proof = $2"}
		var want []string
		for n, change := range changes {
			d := s.pinned(n + 1)
			want = append(want, d.Label)
			switch args := []any{string(d.ID)}; {
			case change == "": // the API key of before
				var before []byte
				if err := s.db.QueryRowContext(t.Context(), `SELECT api_key FROM devices WHERE id = $1`, d.ID).
					Scan(&before); err != nil {
					t.Fatal(err)
				}
				d.APIKey = fleet.NewSecret("another")
				put(t, s.Store, d)
				s.exec(`UPDATE devices SET api_key = $2 WHERE id = $1`, string(d.ID), before)
			case strings.HasPrefix(change, "id"):
				s.exec(`UPDATE devices SET `+change+` WHERE id = $1`, append(args, string(deviceN(100).ID))...)
			case strings.HasSuffix(change, "$2"):
				s.exec(`UPDATE devices SET `+change+` WHERE id = $1`, append(args, []byte("x"))...)
			default:
				s.exec(`UPDATE devices SET `+change+` WHERE id = $1`, args...)
			}
		}
		s.pinned(50)
		if rows := s.verify().Rows; len(rows) < len(want) {
			t.Errorf("before a restart verify finds %q", rows)
		}
		s.restart(options)
		s.wantAltered("after a restart", want...)
		if !s.recorded(string(deviceN(1).ID)) || s.Tampering() == nil {
			t.Errorf("it is not recorded: %+v", s.Tampering())
		}
		s.restart(options)
		s.wantAltered("after another restart", want...)
	})
}

// A row that is put back from a copy has its proof with it.
func TestTheRowOfADeviceOfBeforeIsNotContacted(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		unpinned := put(t, s.Store, deviceN(1))
		s.pinned(2)
		s.keep("devices")
		unpinned.APIAddress = "192.0.2.2"
		put(t, s.Store, unpinned)
		s.exec(`DELETE FROM devices WHERE id = $1`, string(unpinned.ID))
		s.exec(`INSERT INTO devices SELECT * FROM kept_devices WHERE id = $1`, string(unpinned.ID))
		if rows := s.verify().Rows; len(rows) != 1 {
			t.Errorf("verify finds %q", rows)
		}
		s.restart(options)
		s.wantAltered("put back", unpinned.Label)
		if !s.recorded(string(unpinned.ID)) {
			t.Error("it is not recorded")
		}
		must(s.TrustDevice(t.Context(), unpinned.ID, "sha256:01"))(t)
		s.exec(`DELETE FROM devices WHERE label = 'device 2'`)
		s.restart(options)
		s.wantAltered("with another one removed")
		if !s.recorded(deviceRows) {
			t.Error("the removal is not recorded")
		}
		s.restart(options)
		if i := s.Tampering(); i == nil || !strings.Contains(i.Reason, "table devices") {
			t.Errorf("nobody has accepted that a row is missing, and found is %+v", i)
		}
	})
}

func TestADeletedDeviceThatIsPutBackIsNotContacted(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		gone := put(t, s.Store, deviceN(1))
		s.keep("devices")
		if err := s.DeleteDevice(t.Context(), gone.ID, nil); err != nil {
			t.Fatal(err)
		}
		s.exec(`INSERT INTO devices SELECT * FROM kept_devices`)
		s.restart(options)
		s.wantAltered("put back", gone.Label)
	})
}

// Only a pin that an administrator gives makes an altered device one that is contacted.
func TestAnAlteredDeviceIsProvenByAPin(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		var ids []fleet.DeviceID
		for n := range 3 {
			ids = append(ids, s.pinned(n+1).ID)
		}
		s.exec(`UPDATE devices SET api_address = '192.0.2.66', allow_plain = TRUE`)
		s.restart(options)
		s.wantAltered("at first", "device 1", "device 2", "device 3")

		_, _, err := s.PutDevice(t.Context(), deviceN(1), nil)
		wantCode(t, err, fleet.CodeConflict)
		settings := must(s.DeviceSettings(t.Context(), ids[0]))(t)
		settings.Pin = "sha256:66"
		_, err = s.PutDeviceSettings(t.Context(), ids[0], settings, nil)
		wantCode(t, err, fleet.CodeConflict)
		access := must(s.Device(t.Context(), ids[0]))(t).Access()
		wantCode(t, s.ReplaceAccess(t.Context(), ids[0], access, fleet.Access{Key: access.Key, Port: 1}), fleet.CodeConflict)
		must(s.SwitchMode(t.Context(), fleet.ModeScope{Device: ids[0]}, fleet.ModeObserve))(t)
		proven := fleet.Certificate{Fingerprint: "sha256:66"}
		if err := s.SaveObservations(t.Context(), []fleet.Observation{{Device: ids[0], Proven: &proven,
			FirstUse: true}}); err != nil {
			t.Fatal(err)
		}
		s.wantAltered("after what proves nothing", "device 1", "device 2", "device 3")

		_, _, err = s.PutPinnedDevice(t.Context(), deviceN(1), "sha256:01", nil)
		if err != nil {
			t.Fatal(err)
		}
		must(s.TrustDevice(t.Context(), ids[1], "sha256:02"))(t)
		if err := s.DeleteDevice(t.Context(), ids[2], nil); err != nil {
			t.Fatal(err)
		}
		s.wantAltered("at the end")
		s.restart(options)
		s.wantAltered("after a restart")
		for _, id := range ids[:2] {
			if got := must(s.DeviceSettings(t.Context(), id))(t); got.AllowPlain || got.PinOrigin != fleet.PinGiven {
				t.Errorf("got %+v", got)
			}
		}
		if rows := s.verify().Rows; len(rows) > 0 {
			t.Errorf("verify finds %q", rows)
		}
	})
}

// A write that reads the row took another program's pin and address over into what is in force, and kept them.
func TestAWriteMakesNothingGoodThatWasChangedWhileMusterRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		d := s.pinned(1)
		s.exec(`UPDATE devices SET pin = 'sha256:66', api_address = '192.0.2.66'`)
		must(s.SwitchMode(t.Context(), fleet.ModeScope{Device: d.ID}, fleet.ModeObserve))(t)
		s.wantAltered("after a write", d.Label)
		s.restart(options)
		s.wantAltered("after a restart", d.Label)
	})
}

func TestARotationOfTheSealKeyKeepsTheProofsOfDevices(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		ring := seal.NewRing(key(t, 1))
		options.Seal = ring
		s := newTampered(t, options)
		s.pinned(1)
		put(t, s.Store, deviceN(2))
		rotate(t, s.Store, ring)
		s.restart(options)
		s.wantAltered("after a rotation")
		if rows := s.verify().Rows; len(rows) > 0 {
			t.Errorf("verify finds %q", rows)
		}
	})
}

// Who wrote a row for a certificate of their own into the database made it good with a renewal that the certificate
// signed, and a pin.
func TestARenewalMadeAForgedDeviceGood(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		d := s.pinned(1)
		s.keep("devices")
		s.exec(`DELETE FROM devices`)
		s.exec(`UPDATE kept_devices SET id = $1`, string(deviceN(2).ID))
		s.exec(`INSERT INTO devices SELECT * FROM kept_devices`)
		s.restart(options)
		for _, pin := range []string{"", fmt.Sprintf("sha256:%064x", 66)} {
			_, err := s.RenewDevice(t.Context(), fleet.Renewal{Device: deviceN(2).ID, APIKey: fleet.NewSecret("forged"),
				APIPort: 8384, Pin: pin})
			wantCode(t, err, fleet.CodeConflict)
			word := fleet.AgentWord{Pin: pin, Observe: true}
			wantCode(t, s.RecordAgent(t.Context(), deviceN(2).ID, word), fleet.CodeConflict)
		}
		s.wantAltered("after a renewal", d.Label)
		_, err := s.TrustDevice(t.Context(), deviceN(2).ID, "")
		wantCode(t, err, fleet.CodeConflict)
	})
}

// A device that only its agent reaches was reached directly after a change of its row.
func TestTheWayOfADeviceIsProven(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		for n, way := range []fleet.Way{fleet.WayAgent, fleet.WayAuto, fleet.WayDirect} {
			settings := must(s.DeviceSettings(t.Context(), s.pinned(n+1).ID))(t)
			settings.Way = way
			must(s.PutDeviceSettings(t.Context(), deviceN(n+1).ID, settings, nil))(t)
		}
		s.restart(options)
		s.wantAltered("as Muster wrote them")
		s.exec(`UPDATE devices SET way = 'direct'`)
		s.restart(options)
		s.wantAltered("changed", "device 1", "device 2")
	})
}

// An administrator could not trust a device again that came by its agent, and of which Muster had no API key yet.
func TestAnAlteredDeviceWithoutAPIKeyIsProvenByAPin(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		d := must(s.EnrollDevice(t.Context(), enrolling(1, enrollKey(t, s.Store, 1, 9))))(t)
		s.exec(`UPDATE devices SET api_address = '192.0.2.66'`)
		s.restart(options)
		s.wantAltered("at first", d.Label)
		must(s.TrustDevice(t.Context(), d.ID, fmt.Sprintf("sha256:%064x", 1)))(t)
		s.restart(options)
		s.wantAltered("trusted")
	})
}

func TestAnAgentTellsThePinOfItsDaemonAndThatItObserves(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		id, pin := s.pinned(1).ID, fmt.Sprintf("sha256:%064x", 2)
		for _, word := range []fleet.AgentWord{{}, {Pin: pin}, {Pin: pin}, {Observe: true}, {Pin: pin}} {
			if err := s.RecordAgent(t.Context(), id, word); err != nil {
				t.Fatal(err)
			}
		}
		s.restart(options)
		s.wantAltered("after a restart")
		got := must(s.DeviceSettings(t.Context(), id))(t)
		if got.Pin != pin || got.PinOrigin != fleet.PinGiven || got.Way != fleet.WayAgent {
			t.Errorf("got %+v", got)
		}
		told := slices.DeleteFunc(s.entries(), func(e fleet.AuditEntry) bool { return e.What != "device.agent" })
		if len(told) != 2 {
			t.Errorf("the audit has %+v", told)
		}
	})
}
