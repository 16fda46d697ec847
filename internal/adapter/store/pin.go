package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

// TrustDevice sets the pin of a device: the fingerprint of the certificate that its daemon must have. If pin is "",
// the device has no pin afterwards; for an altered device that is a conflict error.
func (s *Store) TrustDevice(ctx context.Context, id fleet.DeviceID, pin string) (fleet.DeviceSettings, error) {
	return write(ctx, s, "trust device", func(t *tx) (fleet.DeviceSettings, error) {
		return t.givePin(id, pin)
	})
}

// givePin pins a certificate that a person named, or that `muster enroll` read on the daemon's machine. If the row is
// altered, the pin makes it trusted again, and givePin forbids plain HTTP: the API key then goes only to the daemon
// with this certificate, whatever address the row has.
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

// RecordAgent stores the settings that follow from the report of a device's agent about its daemon. The agent has
// proven its identity with the device's own key.
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

// observeProven stores the certificate with which a device answered, if it is the device's pin. If the device has no
// pin and firstUse is true, the certificate becomes the pin. An observation changes nothing if a person has set
// another pin or removed the pin meanwhile, or if the row is altered.
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
	case settings.Pin != proven.Fingerprint: // A person has changed or removed the pin meanwhile.
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

// scanProven reads a certificate. The certificate is empty if its row is not believed.
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
