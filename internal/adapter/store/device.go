package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

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

// putDevices creates or replaces the devices of an edit. If the API key in the edit is blank or masked, the device
// keeps its present key; a new device needs a key. A pin in the edit replaces the present pin; without one the present
// pin stays. createdAt, tags and other settings stay, and updatedAt always moves forward.
func (e *editing) putDevices() error {
	for _, put := range e.Put {
		if err := e.putDevice(put); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) putDevice(put fleet.DevicePut) error {
	current, err := e.device(put.Device.ID)
	if err != nil {
		return err
	}
	if err := e.check(foundDevice(current)); err != nil {
		return err
	}
	switch e.done.Created = current == nil; {
	case e.done.Created:
		e.done.Device, err = e.createDevice(put.Device)
	case current.Altered && put.Pin == "":
		err = alteredDevice(put.Device.ID)
	default:
		e.done.Device, err = e.replaceDevice(current, put.Device)
	}
	if err != nil || put.Pin == "" {
		return err
	}
	_, err = e.givePin(put.Device.ID, put.Pin)
	return err
}

// foundDevice returns the device in the form that the check of an edit gets. Its Device is nil if current is nil.
func foundDevice(current *deviceRow) (found fleet.Found) {
	if current != nil {
		found.Device = &current.Device
	}
	return found
}

func ask[T any](check func(*T) error, current *T) error {
	if check == nil {
		return nil
	}
	return check(current)
}

// ReplaceAccess gives a device another API key or port, and leaves the rest of its record as it is. before is the
// access that the device is expected to have, after is the new one. If the device has the new one already, nothing
// changes. If it has neither of the two, or is altered, that is a conflict error.
func (s *Store) ReplaceAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error {
	return s.replaceAccess(ctx, id, before, after, func(*tx) {})
}

// LearnAccess is ReplaceAccess for an access that the device's own agent found. If the access changes, it also writes
// an audit entry device.agent that says whether the API key, the port or both are new.
func (s *Store) LearnAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error {
	return s.replaceAccess(ctx, id, before, after, func(t *tx) {
		t.record("device.agent", string(id), "its daemon has "+describeAccess(before, after))
	})
}

// describeAccess returns the audit's text about a change of access: whether the API key differs between before and
// after, and whether the port does. The text does not contain the key.
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

// insertDevice stores a new device and deletes the decision about it, if there is one. The caller has checked the
// device's fields.
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
		INSERT INTO devices (id, label, api_key, api_address, api_port, mode, allow_plain, pin, pin_origin, may_restart,
			way, quiet_after, created_at, updated_at, proof)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		string(d.ID), d.Label, t.store.sealAPIKey(d), d.APIAddress, d.APIPort, string(r.Settings.Mode),
		r.Settings.AllowPlain, r.Settings.Pin, string(r.Settings.PinOrigin), r.Settings.Restart, string(r.Settings.Way),
		inSeconds(r.Settings.QuietAfter), millis(d.CreatedAt), millis(d.UpdatedAt), proof)
	if err == nil {
		err = t.mark(deviceModeRows, string(d.ID))
	}
	if err != nil {
		return d, err
	}
	t.record("device.create", string(d.ID), d.Label)
	t.touch(d.ID)
	t.register(func(c *contents) { c.devices[d.ID] = &r })
	return d, nil
}

// replaceDevice stores d in place of the device's present row, with the present settings. If d has no API key or the
// masked one, the present key stays. An altered row (see deviceRows) loses its pin and its permission for plain HTTP;
// the caller then pins a certificate.
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
	t.record("device.replace", string(d.ID), replacement(current.Device, d))
	t.touch(d.ID)
	return d, t.updateDevice(current, is)
}

// replacement says for the audit what is another in the record of a device. It has no key.
func replacement(was, is fleet.Device) string {
	var parts []string
	if was.Label != is.Label {
		parts = append(parts, fmt.Sprintf("label %q instead of %q", is.Label, was.Label))
	}
	if was.APIAddress != is.APIAddress || was.APIPort != is.APIPort {
		parts = append(parts, fmt.Sprintf("address %s instead of %s", apiPlace(is), apiPlace(was)))
	}
	if was.APIKey != is.APIKey {
		parts = append(parts, "another API key")
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing in it is another")
	}
	return fleet.Bounded(is.Label + ": " + strings.Join(parts, ", "))
}

// apiPlace is where the API of a device is; "discovered" where the record has no address.
func apiPlace(d fleet.Device) string {
	if d.APIAddress == "" {
		return "discovered"
	}
	return net.JoinHostPort(d.APIAddress, fmt.Sprint(d.APIPort))
}

// updateDevice writes the row of a device, with the proof of its new content.
func (t *tx) updateDevice(current *deviceRow, is fleet.Registered) error {
	d, settings := is.Device, is.Settings
	proof, err := t.proveDevice(current.mark, &is)
	if err != nil {
		return err
	}
	t.register(func(c *contents) {
		c.device(d.ID, func(r *fleet.Registered) { r.Device, r.Settings, r.Altered = d, settings, false })
	})
	return t.markingDevice(current, is, func() error { return t.rewriteDevice(is, proof) })
}

// markingDevice calls write, which changes the row of a device to what `is` has. The mark of the row covers only the
// label, the mode and the permission to restart, so the row gets a new mark only if one of them changes. A row that is
// not believed stays so: a person may set a mode in which nothing is written to the device, and anything that gives the
// row power is a conflict error.
func (t *tx) markingDevice(current *deviceRow, is fleet.Registered, write func() error) error {
	was := current.Settings
	switch {
	case !current.believed && (is.Settings.Restart || !isStop(is.Settings.Mode)):
		t.store.notBelieved(deviceModeRows, markedRow{key: []string{string(current.ID)}})
		return notBelievedDevice(current.ID)
	case !current.believed,
		was.Mode == is.Settings.Mode && was.Restart == is.Settings.Restart && current.Label == is.Label:
		return write()
	}
	return t.marking(deviceModeRows, write, string(current.ID))
}

// isStop reports whether nothing is written to a device in this mode.
func isStop(mode fleet.Mode) bool { return fleet.Strictest(mode, fleet.ModeObserve) == mode }

func (t *tx) rewriteDevice(is fleet.Registered, proof []byte) error {
	d, settings := is.Device, is.Settings
	return t.exec(
		`UPDATE devices SET label = $2, api_key = $3, api_address = $4, api_port = $5, updated_at = $6, mode = $7,
		allow_plain = $8, pin = $9, pin_origin = $10, may_restart = $11, way = $12, quiet_after = $13, proof = $14
		WHERE id = $1`,
		string(d.ID),
		d.Label,
		t.store.sealAPIKey(d),
		d.APIAddress,
		d.APIPort,
		millis(d.UpdatedAt),
		string(settings.Mode),
		settings.AllowPlain,
		settings.Pin,
		string(settings.PinOrigin),
		settings.Restart,
		string(settings.Way),
		inSeconds(settings.QuietAfter),
		proof,
	)
}

// removeDevices deletes devices with everything that is stored about them. The audit keeps its entries.
func (e *editing) removeDevices() error {
	for _, id := range e.Remove {
		if err := e.removeDevice(id); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) removeDevice(id fleet.DeviceID) error {
	current, err := e.registered(id)
	if err != nil {
		return err
	}
	if err := e.check(foundDevice(current)); err != nil {
		return err
	}
	tags, forged, err := e.tagsOf(deviceTags, string(id))
	if err != nil {
		return err
	}
	if err := e.unmarkDevice(id); err != nil {
		return err
	}
	if err := e.exec(`DELETE FROM devices WHERE id = $1`, string(id)); err != nil { // cascades to the device's other rows
		return err
	}
	if err := e.rememberRemoved(id); err != nil {
		return err
	}
	e.effects.marks = e.effects.marks.with(deviceRows, current.mark)
	e.forget()
	e.explain(id, nil)
	e.record("device.delete", string(id), current.Label)
	e.touch(id)
	e.register(func(c *contents) { delete(c.devices, id) })
	e.admit(fleet.AdmissionChange{Gone: []fleet.DeviceID{id}}) // the device's hold was deleted by cascade
	if len(tags)+len(forged) == 0 {
		return nil
	}
	return e.inGeneration(func(int64) error { return nil }) // The device's tags are gone, which makes a new generation.
}

// unmarkDevice takes the mark of a device's row out of its table's tally, and the marks of the rows in other tables
// that the database deletes together with it. The caller calls it before it deletes the device.
func (t *tx) unmarkDevice(id fleet.DeviceID) error {
	errs := []error{t.unmark(deviceModeRows, `id = $1`, string(id))}
	for _, table := range markedTables {
		if table.goes != "" {
			errs = append(errs, t.unmark(table, table.goes+` = $1`, string(id)))
		}
	}
	return errors.Join(errs...)
}

// device returns a device as the transaction sees it. It returns nil if the device is not registered.
func (t *tx) device(id fleet.DeviceID) (*deviceRow, error) {
	row, err := t.store.scanDevice(t.row(selectDevices+` WHERE id = $1`, string(id)))
	if absent(err) {
		return nil, nil
	}
	return row, err
}

// exists reports whether a device is registered.
func (t *tx) exists(id fleet.DeviceID) (bool, error) {
	var one int
	err := t.row(`SELECT 1 FROM devices WHERE id = $1`, string(id)).Scan(&one)
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

var selectDevices = `SELECT id, label, api_key, api_address, api_port, mode, allow_plain, pin, pin_origin,
	may_restart, way, quiet_after, created_at, updated_at, proof, ` + deviceModeRows.columns("") + ` FROM devices`

// scanDevice reads the row of a device. If the seal of the API key does not open, the key stays empty. A row that does
// not fit its mark gets mode observe, unless its mode is stricter, and no permission to restart.
func (s *Store) scanDevice(row scanner) (*deviceRow, error) {
	r := &deviceRow{Registered: fleet.Registered{Tags: []fleet.Tag{}}}
	var id, mode string
	var sealed, proof []byte
	var created, updated sql.NullInt64
	var quiet int64
	marks := s.newMarkReader(deviceModeRows)
	err := alsoMarks{
		row,
		marks,
	}.Scan(
		&id,
		&r.Label,
		&sealed,
		&r.APIAddress,
		&r.APIPort,
		&mode,
		&r.Settings.AllowPlain,
		&r.Settings.Pin,
		&r.Settings.PinOrigin,
		&r.Settings.Restart,
		&r.Settings.Way,
		&quiet,
		&created,
		&updated,
		&proof,
	)
	if err != nil {
		return nil, err
	}
	if key, err := s.seal.Open("devices", id, "api_key", sealed); err == nil {
		r.APIKey, r.keyless = fleet.NewSecret(string(key)), len(key) == 0
	}
	r.ID, r.Settings.Mode = fleet.DeviceID(id), fleet.Mode(mode)
	r.Settings.QuietAfter = time.Duration(quiet) * time.Second
	r.CreatedAt, r.UpdatedAt = fromMillis(created), fromMillis(updated)
	s.readProof(r, proof)
	if r.believed = marks.row().believed; !r.believed {
		r.Settings.Mode, r.Settings.Restart = fleet.Strictest(r.Settings.Mode, fleet.ModeObserve), false
	}
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
