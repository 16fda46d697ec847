package store

import (
	"context"

	"muster/internal/fleet"
)

// DeviceSettings returns the settings of one device.
func (s *Store) DeviceSettings(_ context.Context, id fleet.DeviceID) (fleet.DeviceSettings, error) {
	registered := s.model.current().registry.Devices[id]
	if registered == nil {
		return fleet.DeviceSettings{}, noDevice(id)
	}
	return registered.Settings, nil
}

// PutDeviceSettings replaces the settings of a device. If check is not nil, it gets the present settings, and an error
// from it refuses the change. The device's updatedAt stays, because settings are not part of its record. If only the
// mode changes, the new mode is in force at once, even if the database cannot be written; the error then has the cause
// fleet.ErrNotKept.
func (s *Store) PutDeviceSettings(ctx context.Context, id fleet.DeviceID, settings fleet.DeviceSettings,
	check func(current *fleet.DeviceSettings) error) (fleet.DeviceSettings, error) {
	current, err := s.DeviceSettings(ctx, id)
	if err != nil {
		return settings, err
	}
	switched := current
	switched.Mode = settings.Mode
	_, waits := s.model.forced()[fleet.ModeScope{Device: id}]
	if switched != settings || current == settings && !waits {
		return s.putDeviceSettings(ctx, id, settings, check)
	}
	if err := ask(check, &current); err != nil {
		return settings, err
	}
	return settings, s.notKept(s.SwitchMode(ctx, fleet.ModeScope{Device: id}, settings.Mode))
}

func (s *Store) putDeviceSettings(ctx context.Context, id fleet.DeviceID, settings fleet.DeviceSettings,
	check func(current *fleet.DeviceSettings) error) (fleet.DeviceSettings, error) {
	turn := s.model.nextTurn()
	return write(ctx, s, "put device settings", func(t *tx) (fleet.DeviceSettings, error) {
		if _, err := fleet.ParseMode(string(settings.Mode)); err != nil {
			return settings, err
		}
		row, err := t.registered(id)
		if err != nil {
			return settings, err
		}
		current := row.Settings
		if err := ask(check, &current); err != nil {
			return settings, err
		}
		if current.Mode != settings.Mode { // Changing another setting is no decision about the mode.
			t.decide(fleet.ModeScope{Device: id}, turn)
			decision := modeDecision{mode: settings.Mode, at: t.now, who: t.who}
			t.committed(func() { s.decisions.set(fleet.ModeScope{Device: id}, decision) })
		}
		if current == settings {
			return settings, nil
		}
		t.record("device.settings", string(id), describe(settings))
		return settings, t.putSettings(row, settings)
	})
}

// settingsMode is the beginning of the audit's text about a device's settings. The mode follows it.
const settingsMode = "mode "

func describe(settings fleet.DeviceSettings) string {
	text := settingsMode + string(settings.Mode)
	if settings.AllowPlain {
		text += ", plain HTTP allowed"
	}
	if settings.Restart {
		text += ", restart allowed"
	}
	if settings.Way != fleet.WayAuto {
		text += ", reached by way of " + settings.Way.String()
	}
	if settings.QuietAfter > 0 {
		text += ", may be away for " + settings.QuietAfter.String()
	}
	if settings.Pin == "" {
		return text + ", no pin"
	}
	return text + ", pin " + settings.Pin
}

// registered returns a device as the transaction sees it, or a not-found error.
func (t *tx) registered(id fleet.DeviceID) (*deviceRow, error) {
	row, err := t.device(id)
	if err == nil && row == nil {
		err = noDevice(id)
	}
	return row, err
}

func (t *tx) putSettings(row *deviceRow, settings fleet.DeviceSettings) error {
	t.touch(row.ID)
	return t.keepSettings(row, settings)
}

// keepSettings stores settings without announcing a change of the device. On its own it is for settings that Muster
// learnt by itself. In an altered row only settings that the proof does not cover may change, so that the row stays
// altered; other changes are a conflict error.
func (t *tx) keepSettings(row *deviceRow, settings fleet.DeviceSettings) error {
	unproven := row.Settings
	unproven.Mode, unproven.Restart, unproven.QuietAfter = settings.Mode, settings.Restart, settings.QuietAfter
	is := row.Registered
	is.Settings = settings
	if known, err := t.store.registered(row.ID); err == nil && known.Doubted && row.Settings.Mode != settings.Mode &&
		!isStop(settings.Mode) {
		return doubtedDevice(row.ID)
	}
	if unproven != settings {
		if row.Altered {
			return alteredDevice(row.ID)
		}
		return t.updateDevice(row, is)
	}
	t.register(func(c *contents) {
		c.device(row.ID, func(r *fleet.Registered) { r.Settings, r.Altered = settings, row.Altered })
	})
	return t.markingDevice(row, is, func() error {
		return t.exec(`UPDATE devices SET mode = $2, may_restart = $3, quiet_after = $4 WHERE id = $1`, string(row.ID),
			string(settings.Mode), settings.Restart, inSeconds(settings.QuietAfter))
	})
}

// PutFleetMode sets the mode of the whole fleet. If the mode cannot be stored, it is in force all the same, and the
// error has the cause fleet.ErrNotKept.
func (s *Store) PutFleetMode(ctx context.Context, mode fleet.Mode) error {
	return s.notKept(s.SwitchMode(ctx, fleet.ModeScope{}, mode))
}

func (t *tx) putFleetMode(mode fleet.Mode) error {
	t.record("fleet.mode", "", string(mode))
	t.effects.committed.Modes = true
	t.register(func(c *contents) { c.mode = mode })
	if mode == fleet.ModeOn {
		if err := t.endRestored(); err != nil {
			return err
		}
	}
	return t.putMeta("fleet_mode", string(mode))
}

// putMeta stores a value of the table meta in one of the rows that have marks (see metaRows).
func (t *tx) putMeta(name, value string) error {
	return t.marking(metaRows, t.writeMeta(name, value), name)
}

// putNextMeta is putMeta for a value that Muster derives from the present one. A row in doubt stays so: nobody decided
// what it says.
func (t *tx) putNextMeta(name, value string) error {
	return t.amending(metaRows, t.writeMeta(name, value), name)
}

func (t *tx) writeMeta(name, value string) func() error {
	return func() error {
		return t.exec(`INSERT INTO meta (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	}
}

func (t *tx) dropMeta(name string) error {
	return t.marking(metaRows, func() error { return t.exec(`DELETE FROM meta WHERE name = $1`, name) }, name)
}

// TagMode returns the mode that a person set for the devices with a tag. It returns "on" if nobody has set one.
func (s *Store) TagMode(_ context.Context, tag fleet.Tag) (fleet.Mode, error) {
	if mode, ok := s.model.current().registry.TagModes[tag]; ok {
		return mode, nil
	}
	return fleet.ModeOn, nil
}

// PutTagMode sets the mode of all devices that have the tag now or get it later. No device needs to have it yet. If
// the mode cannot be stored, it is in force all the same, and the error has the cause fleet.ErrNotKept.
func (s *Store) PutTagMode(ctx context.Context, tag fleet.Tag, mode fleet.Mode) error {
	if _, err := fleet.ParseTag(string(tag)); err != nil {
		return err
	}
	return s.notKept(s.SwitchMode(ctx, fleet.ModeScope{Tag: tag}, mode))
}

func (t *tx) putTagMode(tag fleet.Tag, mode fleet.Mode) error {
	t.record("tag.mode", string(tag), string(mode))
	t.effects.committed.Modes = true
	if mode == fleet.ModeOn {
		return t.dropTagMode(tag)
	}
	t.register(func(c *contents) { c.tagModes[tag] = mode })
	return t.marking(tagModeRows, func() error {
		return t.exec(`
			INSERT INTO tag_modes (tag, mode) VALUES ($1, $2)
			ON CONFLICT (tag) DO UPDATE SET mode = excluded.mode`, string(tag), string(mode))
	}, string(tag))
}

func (t *tx) dropTagMode(tag fleet.Tag) error {
	t.effects.committed.Modes = true
	t.register(func(c *contents) { delete(c.tagModes, tag) })
	return t.marking(tagModeRows, func() error {
		return t.exec(`DELETE FROM tag_modes WHERE tag = $1`, string(tag))
	}, string(tag))
}

func (s *Store) loadModes(ctx context.Context, q querier, c *contents) error {
	type pair struct{ name, value string }
	scan := func(row scanner) (p pair, err error) {
		err = row.Scan(&p.name, &p.value)
		return p, err
	}
	tags, err := collect(ctx, q, scan, `SELECT tag, mode FROM tag_modes`)
	if err != nil {
		return err
	}
	for _, p := range tags {
		c.tagModes[fleet.Tag(p.name)] = fleet.Mode(p.value)
	}
	if err := loadQuiet(ctx, q, c); err != nil {
		return err
	}
	facts, err := collect(ctx, q, scan, `SELECT name, value FROM meta WHERE name IN ('fleet_mode', 'restored')`)
	for _, p := range facts {
		if p.name == "fleet_mode" {
			c.mode = fleet.Mode(p.value)
		} else {
			c.restored = parseRestored(p.value)
		}
	}
	return err
}
