package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

// TrustDevice pins a certificate for a device, in place of the one that is pinned.
func (s *Store) TrustDevice(ctx context.Context, id fleet.DeviceID, pin string) (fleet.DeviceSettings, error) {
	return write(ctx, s, "trust device", func(t *tx) (fleet.DeviceSettings, error) {
		return t.givePin(id, pin)
	})
}

// givePin pins the certificate that a person, or enroll on the daemon's machine, gave. That also proves an altered
// row, and takes plain HTTP away: the API key then goes only to the daemon that has the certificate, whatever the
// address in the row is.
func (t *tx) givePin(id fleet.DeviceID, pin string) (fleet.DeviceSettings, error) {
	row, err := t.registered(id)
	if err != nil {
		return fleet.DeviceSettings{}, err
	}
	settings := row.Settings.WithPin(pin)
	if settings == row.Settings && !row.Altered {
		return settings, nil
	}
	what := pin
	if row.Settings.Pin != "" && row.Settings.Pin != pin {
		what += " in place of " + row.Settings.Pin
	}
	t.record("device.trust", string(id), what)
	t.touch(id)
	is := row.Registered
	if row.Altered {
		if pin == "" || is.APIKey.IsZero() && !row.keyless {
			return settings, alteredDevice(id)
		}
		settings.AllowPlain = false
		t.record(fleet.AuditTampered, string(id), fleet.AlteredReason)
	}
	is.Settings = settings
	return settings, t.updateDevice(row, is)
}

// RecordAgent stores what a device's agent, proven by the device's own key, tells about its daemon.
func (s *Store) RecordAgent(ctx context.Context, id fleet.DeviceID, word fleet.AgentWord) error {
	_, err := write(ctx, s, "record agent", func(t *tx) (none struct{}, err error) {
		row, err := t.registered(id)
		if err != nil {
			return none, err
		}
		if row.Altered {
			return none, alteredDevice(id)
		}
		settings := row.Settings.WithWord(word)
		if settings == row.Settings {
			return none, nil
		}
		t.record("device.agent", string(id), describe(settings))
		return none, t.putSettings(row, settings)
	})
	return err
}

// observeProven stores with which certificate a device answered. On first use, that certificate becomes the pin where
// there is none. A watcher's observation never replaces a pin, nor does it bring a pin back that was forgotten since.
func (t *tx) observeProven(id fleet.DeviceID, proven fleet.Certificate, firstUse bool) error {
	row, err := t.registered(id)
	if err != nil || row.Altered {
		return err
	}
	switch settings := row.Settings; {
	case settings.Pin == "" && firstUse:
		settings.Pin, settings.PinOrigin = proven.Fingerprint, fleet.PinFirstUse
		t.record("device.pinned", string(id), proven.Fingerprint)
		if err := t.keepSettings(row, settings); err != nil {
			return err
		}
	case settings.Pin != proven.Fingerprint: // a person has changed or forgotten the pin meanwhile
		return nil
	}
	return t.marking(certificateRows, func() error { return t.putCertificate(id, proven) }, string(id))
}

func (t *tx) putCertificate(id fleet.DeviceID, proven fleet.Certificate) error {
	return t.exec(`
		INSERT INTO certificates (device_id, fingerprint, not_before, not_after) VALUES ($1, $2, $3, $4)
		ON CONFLICT (device_id) DO UPDATE SET fingerprint = excluded.fingerprint,
			not_before = excluded.not_before, not_after = excluded.not_after`,
		string(id), proven.Fingerprint, millis(proven.NotBefore), millis(proven.NotAfter))
}

var selectCertificates = `SELECT device_id, fingerprint, not_before, not_after, ` + certificateRows.columns("") +
	` FROM certificates`

// scanProven returns an empty certificate where the row is not believed.
func (s *Store) scanProven(row scanner) (about[fleet.Certificate], error) {
	read, err := believing(s, certificateRows, scanCertificate)(row)
	if !read.believed {
		read.value.what = fleet.Certificate{}
	}
	return read.value, err
}

func scanCertificate(row scanner) (a about[fleet.Certificate], err error) {
	var from, to sql.NullInt64
	err = row.Scan((*string)(&a.device), &a.what.Fingerprint, &from, &to)
	a.what.NotBefore, a.what.NotAfter = fromMillis(from), fromMillis(to)
	return a, err
}
