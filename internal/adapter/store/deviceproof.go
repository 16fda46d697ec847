package store

import (
	"context"
	"fmt"
	"strconv"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// deviceRows is the table of devices. The proof of a device's row covers everything that decides where its API key is
// sent. A device whose row does not fit its proof is altered: Muster does not contact it until an administrator
// trusts it again.
const deviceRows = "devices"

func deviceSum(r *fleet.Registered) string {
	return sumOf(deviceRows, string(r.ID), r.APIKey.Reveal(), r.APIAddress, strconv.Itoa(r.APIPort),
		strconv.FormatBool(r.Settings.AllowPlain), r.Settings.Pin, string(r.Settings.PinOrigin), string(r.Settings.Way))
}

// deviceRow is the row of a device, with its proof opened.
type deviceRow struct {
	fleet.Registered
	mark     mark // mark in the proof; zero where the proof does not open
	proved   bool // The row has a proof, which may not fit it.
	believed bool // The row fits its mark (see deviceModeRows).
	keyless  bool // The row has an empty API key, because only the device's agent has the key.
}

// readProof opens the sealed proof of a device's row, and sets mark, proved and Altered of r. Altered is true if the
// proof does not fit the row, or if the row lacks its API key without being keyless.
func (s *Store) readProof(r *deviceRow, sealed []byte) {
	var proven bool
	r.proved = sealed != nil
	r.mark, proven = s.openRowProof(deviceRows, string(r.ID), deviceSum(&r.Registered), sealed)
	r.Altered = !proven || r.APIKey.IsZero() && !r.keyless
}

// proveDevice returns the sealed proof for the row of a device that is about to be written. before is the mark of the
// device's present row, zero for a new device; see proveRow.
func (t *tx) proveDevice(before mark, r *fleet.Registered) (sealed []byte, err error) {
	return t.proveRow(deviceRows, string(r.ID), deviceSum(r), before)
}

// marksOf returns the marks of all given rows, combined by exclusive or.
func marksOf(rows []*deviceRow) (all mark) {
	for _, r := range rows {
		all = all.with(r.mark)
	}
	return all
}

// compareMarks compares the marks of rows, which are all devices, with want, the combination that the ends of the
// audit expect. If they differ, a row was removed or put back from a copy, and the marks cannot tell which one.
// compareMarks then sets Altered in every row without a pin, because an earlier row without a pin would send its API
// key to whichever daemon answers. A row with a pin sends the key only to a daemon that was trusted before, so it
// stays usable.
func compareMarks(rows []*deviceRow, want mark) (same bool) {
	if marksOf(rows) == want {
		return true
	}
	for _, r := range rows {
		r.Altered = r.Altered || r.Settings.Pin == ""
	}
	return false
}

// alteredDevice returns the error for an attempt to change an altered row. The change would make a valid proof for
// content that another program put there.
func alteredDevice(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: fleet.AlteredReason, Hint: fleet.AlteredNext(id)}
}

// notBelievedDevice returns the error for a change that would give power to a device whose row is not believed (see
// deviceModeRows). The change would make a valid mark for a label that another program put there.
func notBelievedDevice(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeConflict, Hint: acceptHint,
		Message: fmt.Sprintf("the label or the settings of device %s were changed in the database: it can be observed or "+
			"paused only", id)}
}

// doubtedDevice returns the error for resuming a device about which another row is in doubt.
func doubtedDevice(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeConflict, Hint: acceptHint,
		Message: fmt.Sprintf("what is stored about device %s was changed in the database: it can be observed or paused only",
			id)}
}

const putDeviceProof = `UPDATE devices SET proof = $2 WHERE id = $1`

const deviceRemoved = "a device was removed from the database, or put back as it was earlier"

// renounceAltered removes the proofs of altered rows, so that the rows stay altered until an administrator trusts
// them, and records each of them in the audit. If no altered row has a proof, it records instead that a device was
// removed or put back. From then on the ends of the audit expect only the marks of the rows that are not altered.
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

// checkDevices compares the rows of devices with their proofs when the store is opened, and lets renounceAltered deal
// with the differences.
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

// devicesIn reads all devices. want is the combination of their marks that the ends of the audit expect; zero if the
// ends do not open.
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

// verifyDevices describes the devices whose rows are not as Muster wrote them.
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
		if before == want { // No write came between the two readings.
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
