package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"muster/internal/fleet"
)

func (s *Store) registered(id fleet.DeviceID) (*fleet.Registered, error) {
	var found *fleet.Registered
	s.model.look(func(c *contents) { found = c.devices[id] })
	if found == nil {
		return nil, noDevice(id)
	}
	return found, nil
}

func noDevice(id fleet.DeviceID) error { return fleet.NotFoundf("device %s is not registered", id) }

// PutDevice is PutPinnedDevice without a pin.
func (s *Store) PutDevice(ctx context.Context, device fleet.Device,
	check func(current *fleet.Device) error) (stored fleet.Device, created bool, err error) {
	return s.PutPinnedDevice(ctx, device, "", check)
}

// PutPinnedDevice creates or replaces a device and gives it as stored. A blank or masked API key keeps the one that is
// there; creating needs one. createdAt, tags and settings survive; updatedAt always moves forward. A pin replaces the
// one that is there; without one that stays, whatever else changes.
//
// check, here and below, may be nil. It is asked inside the transaction, with the object as it is then (nil when there
// is none); its error is the answer, and nothing is written. It must not call the store.
func (s *Store) PutPinnedDevice(ctx context.Context, device fleet.Device, pin string,
	check func(current *fleet.Device) error) (stored fleet.Device, created bool, err error) {
	type result struct {
		stored  fleet.Device
		created bool
	}
	put, err := write(ctx, s, "put device", func(t *tx) (result, error) {
		current, err := t.device(device.ID)
		if err != nil {
			return result{}, err
		}
		if err := askDevice(check, current); err != nil {
			return result{}, err
		}
		put := result{created: current == nil}
		switch {
		case put.created:
			put.stored, err = t.createDevice(device)
		case current.Altered && pin == "":
			err = alteredDevice(device.ID)
		default:
			put.stored, err = t.replaceDevice(current, device)
		}
		if err != nil || pin == "" {
			return put, err
		}
		_, err = t.givePin(device.ID, pin)
		return put, err
	})
	return put.stored, put.created, err
}

func ask[T any](check func(*T) error, current *T) error {
	if check == nil {
		return nil
	}
	return check(current)
}

// askDevice asks with the device alone, nil where there is none.
func askDevice(check func(*fleet.Device) error, current *deviceRow) error {
	if current == nil {
		return ask(check, nil)
	}
	return ask(check, &current.Device)
}

// ReplaceAccess gives a device's record another API key or port, and leaves the rest of it as it is by then. It
// answers conflict when the access is no longer the one that is to be replaced.
func (s *Store) ReplaceAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error {
	return s.replaceAccess(ctx, id, before, after, func(*tx) {})
}

// LearnAccess is ReplaceAccess for what a device's own agent found.
func (s *Store) LearnAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error {
	return s.replaceAccess(ctx, id, before, after, func(t *tx) {
		t.record("device.agent", string(id), "its daemon has "+describeAccess(before, after))
	})
}

// describeAccess says what is new, without a key.
func describeAccess(before, after fleet.Access) string {
	var what []string
	switch {
	case before.Key.IsZero():
		what = append(what, "an API key that was not known")
	case before.Key != after.Key:
		what = append(what, "another API key")
	}
	if before.Port != after.Port {
		what = append(what, fmt.Sprintf("its API on port %d in place of %d", after.Port, before.Port))
	}
	return strings.Join(what, " and ")
}

func (s *Store) replaceAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access,
	record func(*tx)) error {
	_, err := write(ctx, s, "replace access", func(t *tx) (none struct{}, err error) {
		current, err := t.device(id)
		switch {
		case err != nil:
			return none, err
		case current == nil:
			return none, noDevice(id)
		case current.Altered:
			return none, alteredDevice(id)
		case current.Access() == after:
			return none, nil
		case current.Access() != before:
			return none, &fleet.Error{
				Code: fleet.CodeConflict, Message: fmt.Sprintf("device %s was given another API key or port meanwhile", id),
				Hint: "Look whether the daemon takes the API key in the device's record, at the port in it.",
			}
		}
		record(t)
		device := current.Device
		device.APIKey, device.APIPort = after.Key, after.Port
		_, err = t.replaceDevice(current, device)
		return none, err
	})
	return err
}

func (t *tx) createDevice(d fleet.Device) (fleet.Device, error) {
	if err := d.Validate(); err != nil {
		return d, err
	}
	return t.insertDevice(d)
}

// insertDevice keeps a device whose fields were checked. What was decided about it before is forgotten.
func (t *tx) insertDevice(d fleet.Device) (fleet.Device, error) {
	if err := t.forgetDecision(d.ID); err != nil {
		return d, err
	}
	d.CreatedAt, d.UpdatedAt = t.now, t.now
	r := fleet.Registered{Device: d, Tags: []fleet.Tag{}, Settings: fleet.DeviceSettings{Mode: fleet.ModeOn}}
	proof, err := t.proveDevice(mark{}, &r)
	if err != nil {
		return d, err
	}
	err = t.exec(`
		INSERT INTO devices (id, label, api_key, api_address, api_port, mode, allow_plain, pin, may_restart, way,
			created_at, updated_at, proof)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		string(d.ID), d.Label, t.store.sealAPIKey(d), d.APIAddress, d.APIPort, string(r.Settings.Mode),
		r.Settings.AllowPlain, r.Settings.Pin, r.Settings.Restart, string(r.Settings.Way),
		millis(d.CreatedAt), millis(d.UpdatedAt), proof)
	if err != nil {
		return d, err
	}
	t.record("device.create", string(d.ID), d.Label)
	t.touch(d.ID)
	t.register(func(c *contents) { c.devices[d.ID] = &r })
	return d, nil
}

// replaceDevice keeps the settings. Those of an altered row are forgotten: the caller gives a pin.
func (t *tx) replaceDevice(current *deviceRow, d fleet.Device) (fleet.Device, error) {
	if key := d.APIKey.Reveal(); key == "" || key == fleet.MaskedAPIKey {
		d.APIKey = current.APIKey
	}
	check := d.Validate
	if current.keyless {
		check = d.ValidateKeyless
	}
	if err := check(); err != nil {
		return d, err
	}
	d.CreatedAt, d.UpdatedAt = current.CreatedAt, t.after(current.UpdatedAt)
	is := fleet.Registered{Device: d, Settings: current.Settings}
	if current.Altered {
		is.Settings = is.Settings.WithPin("")
		is.Settings.AllowPlain = false
		t.record(fleet.AuditTampered, string(d.ID), fleet.AlteredReason)
	}
	t.forget()
	t.record("device.replace", string(d.ID), d.Label)
	t.touch(d.ID)
	return d, t.updateDevice(current, is)
}

// updateDevice writes a row with the proof of what it is now.
func (t *tx) updateDevice(current *deviceRow, is fleet.Registered) error {
	d, settings := is.Device, is.Settings
	proof, err := t.proveDevice(current.mark, &is)
	if err != nil {
		return err
	}
	t.register(func(c *contents) {
		c.device(d.ID, func(r *fleet.Registered) { r.Device, r.Settings, r.Altered = d, settings, false })
	})
	return t.exec(`UPDATE devices SET label = $2, api_key = $3, api_address = $4, api_port = $5, updated_at = $6, mode = $7,
		allow_plain = $8, pin = $9, pin_origin = $10, may_restart = $11, way = $12, proof = $13 WHERE id = $1`,
		string(d.ID), d.Label, t.store.sealAPIKey(d), d.APIAddress, d.APIPort, millis(d.UpdatedAt), string(settings.Mode),
		settings.AllowPlain, settings.Pin, string(settings.PinOrigin), settings.Restart, string(settings.Way),
		proof)
}

// DeleteDevice forgets a device with its tags, settings, mirrors, base, revisions and intents. The audit stays.
func (s *Store) DeleteDevice(ctx context.Context, id fleet.DeviceID, check func(current *fleet.Device) error) error {
	_, err := write(ctx, s, "delete device", func(t *tx) (none struct{}, err error) {
		current, err := t.device(id)
		if err != nil {
			return none, err
		}
		if current == nil {
			return none, noDevice(id)
		}
		if err := askDevice(check, current); err != nil {
			return none, err
		}
		tags, err := t.tagsOf(deviceTags, string(id))
		if err != nil {
			return none, err
		}
		if err := t.exec(`DELETE FROM devices WHERE id = $1`, string(id)); err != nil { // the rest goes by cascade
			return none, err
		}
		if err := t.rememberRemoved(id); err != nil {
			return none, err
		}
		t.effects.marks = t.effects.marks.with(deviceRows, current.mark)
		t.forget()
		t.explain(id, nil)
		t.record("device.delete", string(id), current.Label)
		t.touch(id)
		t.register(func(c *contents) { delete(c.devices, id) })
		t.admit(fleet.AdmissionChange{Gone: []fleet.DeviceID{id}}) // its hold went by cascade
		if len(tags) == 0 {
			return none, nil
		}
		_, err = t.generation("device deleted: " + string(id)) // its tags are gone
		return none, err
	})
	return err
}

// device is the device as the transaction sees it, nil when there is none.
func (t *tx) device(id fleet.DeviceID) (*deviceRow, error) {
	row, err := t.store.scanDevice(t.row(selectDevices+` WHERE id = $1`, string(id)))
	if absent(err) {
		return nil, nil
	}
	return row, err
}

// exists tells whether a device is registered.
func (t *tx) exists(id fleet.DeviceID) (bool, error) {
	var one int
	err := t.row(`SELECT 1 FROM devices WHERE id = $1`, string(id)).Scan(&one)
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

const selectDevices = `SELECT id, label, api_key, api_address, api_port, mode, allow_plain, pin, pin_origin,
	may_restart, way, created_at, updated_at, proof FROM devices`

// scanDevice leaves the API key out where it does not open.
func (s *Store) scanDevice(row scanner) (*deviceRow, error) {
	r := &deviceRow{Registered: fleet.Registered{Tags: []fleet.Tag{}}}
	var id, mode string
	var sealed, proof []byte
	var created, updated sql.NullInt64
	err := row.Scan(&id, &r.Label, &sealed, &r.APIAddress, &r.APIPort, &mode, &r.Settings.AllowPlain, &r.Settings.Pin,
		&r.Settings.PinOrigin, &r.Settings.Restart, &r.Settings.Way, &created, &updated, &proof)
	if err != nil {
		return nil, err
	}
	if key, err := s.seal.Open("devices", id, "api_key", sealed); err == nil {
		r.APIKey, r.keyless = fleet.NewSecret(string(key)), len(key) == 0
	}
	r.ID, r.Settings.Mode = fleet.DeviceID(id), fleet.Mode(mode)
	r.CreatedAt, r.UpdatedAt = fromMillis(created), fromMillis(updated)
	s.readProof(r, proof)
	return r, nil
}

func (s *Store) sealAPIKey(d fleet.Device) []byte {
	return s.seal.Seal("devices", string(d.ID), "api_key", []byte(d.APIKey.Reveal()))
}

func (s *Store) loadDevices(ctx context.Context, q querier, c *contents) error {
	rows, want, err := s.devicesIn(ctx, q)
	compareMarks(rows, want)
	for _, r := range rows {
		c.devices[r.ID] = &r.Registered
	}
	return err
}
