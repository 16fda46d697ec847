package store

import (
	"context"

	"muster/internal/fleet"
)

// DeviceSettings are the settings of one device.
func (s *Store) DeviceSettings(_ context.Context, id fleet.DeviceID) (fleet.DeviceSettings, error) {
	registered, err := s.registered(id)
	if err != nil {
		return fleet.DeviceSettings{}, err
	}
	return registered.Settings, nil
}

// PutDeviceSettings replaces the settings of a device. They are not part of the device: its updatedAt stays.
func (s *Store) PutDeviceSettings(ctx context.Context, id fleet.DeviceID, settings fleet.DeviceSettings, check func(current *fleet.DeviceSettings) error) (fleet.DeviceSettings, error) {
	return write(ctx, s, "put device settings", func(t *tx) (fleet.DeviceSettings, error) {
		if _, err := fleet.ParseMode(string(settings.Mode)); err != nil {
			return settings, err
		}
		current, err := t.settings(id)
		if err != nil {
			return settings, err
		}
		if err := ask(check, &current); err != nil {
			return settings, err
		}
		if current == settings {
			return settings, nil
		}
		t.record("device.settings", string(id), describe(settings))
		return settings, t.putSettings(id, settings)
	})
}

func describe(settings fleet.DeviceSettings) string {
	text := "mode " + string(settings.Mode)
	if settings.AllowPlain {
		text += ", plain HTTP allowed"
	}
	if settings.Pin == "" {
		return text + ", no pin"
	}
	return text + ", pin " + settings.Pin
}

func (t *tx) settings(id fleet.DeviceID) (settings fleet.DeviceSettings, err error) {
	var mode string
	err = t.row(`SELECT mode, allow_plain, pin FROM devices WHERE id = $1`, string(id)).Scan(&mode, &settings.AllowPlain, &settings.Pin)
	if absent(err) {
		return settings, noDevice(id)
	}
	settings.Mode = fleet.Mode(mode)
	return settings, err
}

func (t *tx) putSettings(id fleet.DeviceID, settings fleet.DeviceSettings) error {
	err := t.exec(`UPDATE devices SET mode = $2, allow_plain = $3, pin = $4 WHERE id = $1`,
		string(id), string(settings.Mode), settings.AllowPlain, settings.Pin)
	if err != nil {
		return err
	}
	t.touch(id)
	t.register(func(c *contents) {
		c.device(id, func(r *fleet.Registered) { r.Settings = settings })
	})
	return nil
}

// FleetMode is the mode of the whole fleet, "on" until somebody says otherwise.
func (s *Store) FleetMode(context.Context) (mode fleet.Mode, err error) {
	s.model.look(func(c *contents) { mode = c.mode })
	return mode, nil
}

// PutFleetMode sets the mode of the whole fleet.
func (s *Store) PutFleetMode(ctx context.Context, mode fleet.Mode) error {
	_, err := write(ctx, s, "put mode of the fleet", func(t *tx) (none struct{}, err error) {
		if _, err := fleet.ParseMode(string(mode)); err != nil {
			return none, err
		}
		t.record("fleet.mode", "", string(mode))
		t.register(func(c *contents) { c.mode = mode })
		return none, t.exec(`
			INSERT INTO meta (name, value) VALUES ('fleet_mode', $1)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, string(mode))
	})
	return err
}

// TagMode is the mode of all devices that carry the tag, "on" until somebody says otherwise.
func (s *Store) TagMode(_ context.Context, tag fleet.Tag) (fleet.Mode, error) {
	mode := fleet.ModeOn
	s.model.look(func(c *contents) {
		if m, ok := c.tagModes[tag]; ok {
			mode = m
		}
	})
	return mode, nil
}

// PutTagMode sets the mode of all devices that carry the tag, now and later: nobody needs to carry it yet.
func (s *Store) PutTagMode(ctx context.Context, tag fleet.Tag, mode fleet.Mode) error {
	_, err := write(ctx, s, "put mode of a tag", func(t *tx) (none struct{}, err error) {
		if _, err := fleet.ParseTag(string(tag)); err != nil {
			return none, err
		}
		if _, err := fleet.ParseMode(string(mode)); err != nil {
			return none, err
		}
		t.record("tag.mode", string(tag), string(mode))
		if mode == fleet.ModeOn {
			return none, t.dropTagMode(tag)
		}
		t.register(func(c *contents) { c.tagModes[tag] = mode })
		return none, t.exec(`
			INSERT INTO tag_modes (tag, mode) VALUES ($1, $2)
			ON CONFLICT (tag) DO UPDATE SET mode = excluded.mode`, string(tag), string(mode))
	})
	return err
}

func (t *tx) dropTagMode(tag fleet.Tag) error {
	t.register(func(c *contents) { delete(c.tagModes, tag) })
	return t.exec(`DELETE FROM tag_modes WHERE tag = $1`, string(tag))
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
	facts, err := collect(ctx, q, scan, `SELECT name, value FROM meta WHERE name = 'fleet_mode'`)
	for _, p := range facts {
		c.mode = fleet.Mode(p.value)
	}
	return err
}
