package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

// TrustDevice pins a certificate in place of whatever was pinned.
func (s *Store) TrustDevice(ctx context.Context, id fleet.DeviceID, pin string) (fleet.DeviceSettings, error) {
	return write(ctx, s, "trust device", func(t *tx) (fleet.DeviceSettings, error) {
		settings, err := t.settings(id)
		if err != nil {
			return settings, err
		}
		return t.givePin(id, settings, pin)
	})
}

// givePin pins what a person, or enroll on the daemon's machine, gave.
func (t *tx) givePin(id fleet.DeviceID, current fleet.DeviceSettings, pin string) (fleet.DeviceSettings, error) {
	settings := current.WithPin(pin)
	if settings == current {
		return settings, nil
	}
	what := pin
	if current.Pin != "" && current.Pin != pin {
		what += " in place of " + current.Pin
	}
	t.record("device.trust", string(id), what)
	return settings, t.putSettings(id, settings)
}

// observeProven keeps the certificate behind which a device answered. On first use, and where none is pinned, it
// becomes the pin; a pin that is there is never replaced by what a watcher saw, nor does one come back that was
// forgotten since.
func (t *tx) observeProven(id fleet.DeviceID, proven fleet.Certificate, firstUse bool) error {
	settings, err := t.settings(id)
	switch {
	case err != nil:
		return err
	case settings.Pin == "" && firstUse:
		settings.Pin, settings.PinOrigin = proven.Fingerprint, fleet.PinFirstUse
		t.record("device.pinned", string(id), proven.Fingerprint)
		if err := t.keepSettings(id, settings); err != nil {
			return err
		}
	case settings.Pin != proven.Fingerprint: // a person has pinned another one since, or forgotten this one
		return nil
	}
	return t.exec(`
		INSERT INTO certificates (device_id, fingerprint, not_before, not_after) VALUES ($1, $2, $3, $4)
		ON CONFLICT (device_id) DO UPDATE SET fingerprint = excluded.fingerprint,
			not_before = excluded.not_before, not_after = excluded.not_after`,
		string(id), proven.Fingerprint, millis(proven.NotBefore), millis(proven.NotAfter))
}

const selectCertificates = `SELECT device_id, fingerprint, not_before, not_after FROM certificates`

func scanCertificate(row scanner) (a about[fleet.Certificate], err error) {
	var from, to sql.NullInt64
	err = row.Scan((*string)(&a.device), &a.what.Fingerprint, &from, &to)
	a.what.NotBefore, a.what.NotAfter = fromMillis(from), fromMillis(to)
	return a, err
}
