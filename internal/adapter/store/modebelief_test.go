package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// Somebody changed the label of a device in the database, so it was only observed. The next person who resumed or
// paused it gave the whole row a new mark, and templates wrote what the label says.
func TestAChangeOfModeDoesNotBelieveAForgedLabel(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		id := deviceN(1).ID
		m.exec(`UPDATE devices SET label = 'forged' WHERE id = $1`, string(id))
		m.restart(options)
		m.wantForged("after a start", id, fleet.ModeObserve)
		for what, settings := range map[string]fleet.DeviceSettings{
			"resumed":                      {Mode: fleet.ModeOn},
			"resumed with another setting": {Mode: fleet.ModeOn, AllowPlain: true},
			"given a restart":              {Mode: fleet.ModeObserve, Restart: true},
		} {
			m.wantRefused(what, id, settings)
			m.wantForged(what, id, fleet.ModeObserve)
		}
		for _, mode := range []fleet.Mode{fleet.ModePaused, fleet.ModeObserve, fleet.ModePaused} {
			m.setMode(id, mode)
			m.wantForged("stopped", id, mode)
		}
		m.restart(options)
		m.wantForged("stopped and started again", id, fleet.ModePaused)
		m.wantRefused("resumed from a stop", id, fleet.DeviceSettings{Mode: fleet.ModeOn})
		must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		m.setMode(id, fleet.ModeOn)
		m.wantIntact()
		m.restart(options)
		if mode := must(m.Registry(t.Context()))(t).ModeOf(id); mode != fleet.ModeOn {
			t.Errorf("once an admin accepted the label the device is %s", mode)
		}
	})
}

// A server that runs has the label from before. What it is told about the mode must not give the other label a mark.
func TestAServerThatRunsDoesNotBelieveALabelForgedSince(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		id := deviceN(1).ID
		m.setMode(id, fleet.ModeObserve)
		m.exec(`UPDATE devices SET label = 'forged' WHERE id = $1`, string(id))
		m.wantRefused("resumed", id, fleet.DeviceSettings{Mode: fleet.ModeOn, AllowPlain: true})
		m.wantForged("resumed", id, fleet.ModeObserve)
		if told := m.Tampering(); told == nil || !strings.Contains(told.Reason, "devices") {
			t.Errorf("once it was found the state says %+v", told)
		}
		scope := fleet.ModeScope{Device: id}
		if kept, err := m.SwitchMode(t.Context(), scope, fleet.ModeOn); kept || err == nil && !m.keepNow(t.Context()) {
			t.Errorf("got %v, %v", kept, err)
		}
		m.wantForged("resumed at once", id, fleet.ModeObserve)
		m.model.force(scope, fleet.ModeOn) // The database could not be written.
		if !m.keepNow(t.Context()) {
			t.Error("a mode that is refused is tried for ever")
		}
		m.wantForged("resumed while the database could not be written", id, fleet.ModeObserve)
		m.setMode(id, fleet.ModePaused)
		m.wantForged("stopped", id, fleet.ModePaused)
	})
}

// A device that was registered again has a row of its own: it can be resumed although the earlier one was forged.
func TestADeviceThatIsRegisteredAgainCanBeResumed(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		id := deviceN(1).ID
		m.exec(`UPDATE devices SET label = 'forged' WHERE id = $1`, string(id))
		m.restart(options)
		must(m.ApplyEdit(t.Context(), fleet.Edit{Remove: []fleet.DeviceID{id}}, fleet.Basis{}))(t)
		put(t, m.Store, deviceN(1))
		for _, mode := range []fleet.Mode{fleet.ModePaused, fleet.ModeOn} {
			m.setMode(id, mode)
		}
		m.wantIntact()
	})
}

func (m *meddled) setMode(id fleet.DeviceID, mode fleet.Mode) {
	m.t.Helper()
	_, err := m.PutDeviceSettings(m.t.Context(), id, fleet.DeviceSettings{Mode: mode}, nil)
	if err := stored(m.Store, err); err != nil {
		m.t.Fatal(err)
	}
}

// wantRefused wants a change of a device's settings refused, with a hint about how an admin accepts the row.
func (m *meddled) wantRefused(what string, id fleet.DeviceID, settings fleet.DeviceSettings) {
	m.t.Helper()
	_, err := m.PutDeviceSettings(m.t.Context(), id, settings, nil)
	var refused *fleet.Error
	if !errors.As(err, &refused) || refused.Code != fleet.CodeConflict ||
		!strings.Contains(refused.Hint, "muster audit accept-loss ENTRY") {
		m.t.Errorf("%s: got %+v", what, err)
	}
}

// wantForged wants the row of a device in doubt, and the device in this mode.
func (m *meddled) wantForged(what string, id fleet.DeviceID, mode fleet.Mode) {
	m.t.Helper()
	named := func(row string) bool {
		return strings.Contains(row, string(id)) && strings.Contains(row, "table devices")
	}
	if rows := m.verify().Rows; !slices.ContainsFunc(rows, named) {
		m.t.Errorf("%s: verify names %q", what, rows)
	}
	if got := must(m.Registry(m.t.Context()))(m.t).Devices[id].Settings.Mode; got != mode {
		m.t.Errorf("%s: the device is %s, want %s", what, got, mode)
	}
}

// A device was given a tag in the database, so the device was only observed. Any later change of its record, and a
// person who resumed it, ended that, and templates of the forged tag were written.
func TestAChangeOfADeviceDoesNotBelieveItsForgedTag(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		id := deviceN(1).ID
		m.exec(`INSERT INTO device_tags (device_id, tag) VALUES ($1, 'forged')`, string(id))
		m.restart(options)
		wantObserved := func(what string) {
			t.Helper()
			if mode := must(m.Registry(t.Context()))(t).ModeOf(id); mode != fleet.ModeObserve {
				t.Errorf("%s, the device is %s", what, mode)
			}
		}
		wantObserved("after a start")
		settings := must(m.Registry(t.Context()))(t).Devices[id].Settings
		settings.QuietAfter = 7 * 24 * time.Hour
		if _, err := m.PutDeviceSettings(t.Context(), id, settings, nil); err != nil {
			t.Fatal(err)
		}
		wantObserved("after a change of its settings")
		_, err := m.SwitchMode(t.Context(), fleet.ModeScope{Device: id}, fleet.ModeOn)
		if fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("resumed: got %v", err)
		}
		wantObserved("after it was resumed")
		m.setMode(id, fleet.ModeObserve)
		m.wantRefused("resumed from a stop", id, fleet.DeviceSettings{Mode: fleet.ModeOn})
		must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		m.setMode(id, fleet.ModeOn)
		if mode := must(m.Registry(t.Context()))(t).ModeOf(id); mode != fleet.ModeOn {
			t.Errorf("once an admin accepted the tag, the device is %s", mode)
		}
	})
}
