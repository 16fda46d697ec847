package store

import (
	"context"
	"fmt"
	"strconv"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// The row of a device has a proof, of everything that decides where the API key of the device is sent and to whom it is
// shown.
const deviceRows = "devices"

func deviceSum(r *fleet.Registered) string {
	fields := []string{string(r.ID), r.APIKey.Reveal(), r.APIAddress, strconv.Itoa(r.APIPort),
		strconv.FormatBool(r.Settings.AllowPlain), r.Settings.Pin, string(r.Settings.PinOrigin)}
	if r.Settings.Way != fleet.WayAuto { // proofs of before there were ways hold
		fields = append(fields, string(r.Settings.Way))
	}
	return sumOf(deviceRows, fields...)
}

// deviceRow is a device with what its row says about itself.
type deviceRow struct {
	fleet.Registered
	mark    mark // none where the proof does not open
	proved  bool // the row has a proof, whether or not it is of what the row means
	keyless bool // Muster has no API key of the device yet: its agent has it
}

// readProof finds out whether the row is as Muster wrote it.
func (s *Store) readProof(r *deviceRow, sealed []byte) {
	var proven bool
	r.proved = sealed != nil
	r.mark, proven = s.openRowProof(deviceRows, string(r.ID), deviceSum(&r.Registered), sealed)
	r.Altered = !proven || r.APIKey.IsZero() && !r.keyless
}

// proveDevice is the proof of a device for its row, in the place of the one that has the mark before.
func (t *tx) proveDevice(before mark, r *fleet.Registered) (sealed []byte, err error) {
	return t.proveRow(deviceRows, string(r.ID), deviceSum(r), before)
}

// marksOf are the marks of rows together.
func marksOf(rows []*deviceRow) (all mark) {
	for _, r := range rows {
		all = all.with(r.mark)
	}
	return all
}

// compareMarks marks rows without a pin as altered where a row was removed or put back: which one it was is not known.
// The API key of a row with a pin goes only to a daemon that was trusted with it.
func compareMarks(rows []*deviceRow, want mark) (same bool) {
	if marksOf(rows) == want {
		return true
	}
	for _, r := range rows {
		r.Altered = r.Altered || r.Settings.Pin == ""
	}
	return false
}

// alteredDevice answers for a write that would make good what was changed in the row of a device.
func alteredDevice(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: fleet.AlteredReason, Hint: fleet.AlteredNext(id)}
}

// believeDevices proves the rows of a database of before they were proven, as they are.
func (t *tx) believeDevices() error {
	rows, err := collect(t.ctx, t.session, t.store.scanDevice, selectDevices)
	if err != nil {
		return err
	}
	believed := 0
	for _, r := range rows {
		if r.APIKey.IsZero() {
			continue // it does not open
		}
		sealed, err := t.proveDevice(mark{}, &r.Registered)
		if err != nil {
			return err
		}
		if err := t.exec(putDeviceProof, string(r.ID), sealed); err != nil {
			return err
		}
		believed++
	}
	if believed > 0 {
		t.record("device.believe", "", fmt.Sprintf("the addresses and pins of %d devices were there before and are believed",
			believed))
	}
	return nil
}

const putDeviceProof = `UPDATE devices SET proof = $2 WHERE id = $1`

const deviceRemoved = "a device was removed from the database, or put back as it was earlier"

// renounceAltered takes the proofs away of rows that were altered, so that each stays so until an admin trusts it, and
// records what was found. The marks that are left are those of the rows that are left.
func (t *tx) renounceAltered(rows []*deviceRow) error {
	ends, _, err := t.auditEnds()
	if err != nil {
		return err
	}
	t.effects.marks = t.effects.marks.with(deviceRows, marksIn(ends, deviceRows))
	for _, r := range rows {
		switch {
		case !r.Altered:
			t.effects.marks.with(deviceRows, r.mark)
		case r.proved:
			if err := t.exec(putDeviceProof, string(r.ID), nil); err != nil {
				return err
			}
			t.record(fleet.AuditTampered, string(r.ID), fleet.AlteredReason)
		}
	}
	if len(t.effects.audit) == 0 {
		t.record(fleet.AuditTampered, deviceRows, deviceRemoved)
		t.store.tampering.add(deviceRemoved)
	}
	return nil
}

// checkDevices compares the rows of devices with their proofs, at the start.
func (w *writer) checkDevices(ctx context.Context) error {
	rows, want, err := w.store.devicesIn(ctx, w.session)
	if err != nil {
		return err
	}
	same := compareMarks(rows, want)
	for _, r := range rows {
		if r.Altered && r.proved {
			same = false
			w.store.log.Error("the record of a device in the database was not written by Muster: it is not contacted",
				logkey.Device, r.ID)
		}
	}
	if same {
		return nil
	}
	return w.alone(ctx, func(t *tx) error { return t.renounceAltered(rows) })
}

// devicesIn are all devices, and the marks that they have together as the ends of the audit say.
func (s *Store) devicesIn(ctx context.Context, q querier) (rows []*deviceRow, want mark, err error) {
	if rows, err = collect(ctx, q, s.scanDevice, selectDevices); err != nil {
		return nil, want, err
	}
	want, err = s.deviceMarks(ctx, q)
	return rows, want, err
}

func (s *Store) deviceMarks(ctx context.Context, q querier) (mark, error) {
	ends, _, err := s.openEnds(ctx, q)
	return marksIn(ends, deviceRows), err
}

// verifyDevices names the rows that are not as Muster wrote them.
func (s *Store) verifyDevices(ctx context.Context) (wrong []string, err error) {
	const tries = 10
	for range tries {
		before, err := s.deviceMarks(ctx, pool{s.reads})
		if err != nil {
			return nil, err
		}
		rows, want, err := s.devicesIn(ctx, pool{s.reads})
		if err != nil {
			return nil, err
		}
		if before == want { // no write came between
			return alteredIn(rows, want), nil
		}
	}
	return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the devices change too often to be verified",
		Hint: tryAgain}
}

func alteredIn(rows []*deviceRow, want mark) (wrong []string) {
	for _, r := range rows {
		if r.Altered {
			wrong = append(wrong, fmt.Sprintf("device %q (%s): its address, port, API key, pin or plain HTTP is not as Muster "+
				"wrote it: it is not contacted after the next start. %s", r.Label, r.ID, fleet.AlteredNext(r.ID)))
		}
	}
	if marksOf(rows) != want {
		wrong = append(wrong, deviceRemoved)
	}
	return wrong
}
