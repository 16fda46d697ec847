package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"muster/internal/fleet"
)

// enroll registers the device of an enrolment with its tags. If the enrolment has an enrol key, it counts one use of
// the key, and returns a forbidden error if an administrator rejected the device. Without a key, an administrator
// enrols the device. enroll returns an error if the device is registered already or is revoked.
func (e *editing) enroll() error {
	if e.Enroll == nil {
		return nil
	}
	device := e.Enroll.Device
	if err := e.refuseRevoked(device.ID); err != nil {
		return err
	}
	there, err := e.exists(device.ID)
	if err != nil {
		return err
	}
	if there {
		return &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("device %s is registered already", device.ID.Short()),
			Hint:    "`muster enroll` on its machine, without tags, renews its certificate and API key."}
	}
	if e.Enroll.KeyHash != "" {
		if err := e.enrollByKey(); err != nil {
			return err
		}
	}
	if e.Enroll.OwnName {
		if device.Label, err = e.freeLabel(device.Label); err != nil {
			return err
		}
	}
	if err := device.ValidateKeyless(); err != nil {
		return err
	}
	e.record("enrollment.accept", string(device.ID), e.Enroll.Detail)
	e.done.Created = true
	if e.done.Device, err = e.insertDevice(device); err != nil {
		return err
	}
	if e.Enroll.Pin != "" {
		if _, err := e.givePin(device.ID, e.Enroll.Pin); err != nil {
			return err
		}
	}
	for _, tag := range slices.Compact(slices.Sorted(slices.Values(e.Enroll.Tags))) {
		if err := e.setTag(taggedDevice(device.ID, tag, true)); err != nil {
			return err
		}
	}
	return nil
}

// freeLabel returns label if no device has it, and otherwise a variant of label that no device has. Only one
// transaction writes at a time, so no other device gets the label meanwhile.
func (t *tx) freeLabel(label string) (string, error) {
	taken, err := collect(t.ctx, t.session, func(row scanner) (taken string, err error) {
		return taken, row.Scan(&taken)
	}, `SELECT label FROM devices WHERE substr(label, 1, $1) = $2`, utf8.RuneCountInString(label), label)
	return fleet.FreeLabel(label, taken), err
}

// enrollByKey checks that the enrol key may register this device with these tags, and counts the use. The audit
// entries that follow name the key as the actor, because the administrator who made the key chose the tags.
func (e *editing) enrollByKey() error {
	decision, err := e.enrollmentDecision(e.Enroll.Device.ID)
	if err != nil {
		return err
	}
	if decision.Rejected != nil {
		return fleet.RejectedEnrollment()
	}
	key, err := e.useEnrollKey(e.Enroll.KeyHash, e.Enroll.Policy, decision)
	if err != nil {
		return err
	}
	if !slices.Equal(key.Tags, e.Enroll.Tags) {
		return fleet.UnknownEnrollKey()
	}
	e.who = key.Actor()
	return nil
}

const (
	rejectedDecision = "rejected"
	deletedDecision  = "deleted"

	enrollmentColumns = `device_id, name, system, version, address, api_port, first_seen_at, last_seen_at, decided_by,
		decided_at, decision, proof`
	selectDecisions = `SELECT ` + enrollmentColumns + ` FROM enrollment_decisions`
	putDecision     = `INSERT INTO enrollment_decisions (` + enrollmentColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (device_id) DO UPDATE SET name = excluded.name, system = excluded.system, version = excluded.version,
			address = excluded.address, api_port = excluded.api_port, first_seen_at = excluded.first_seen_at,
			last_seen_at = excluded.last_seen_at, decided_by = excluded.decided_by, decided_at = excluded.decided_at,
			decision = excluded.decision, proof = excluded.proof`
)

type decisionRow struct {
	fleet.EnrollmentRequest
	decision string
	mark     mark // zero when the proof does not open
	proved   bool // The row has a proof, which may not fit it.
	altered  bool
}

func (s *Store) scanDecision(row scanner) (v decisionRow, err error) {
	var first, last, decided sql.NullInt64
	var proof []byte
	err = row.Scan((*string)(&v.Device), &v.Name, &v.System, &v.Version, &v.Address, &v.APIPort, &first, &last,
		&v.DecidedBy, &decided, &v.decision, &proof)
	v.Status = fleet.EnrollmentRejected
	v.FirstAt, v.LastAt, v.DecidedAt = fromMillis(first), fromMillis(last), fromMillis(decided)
	var proven bool
	v.mark, proven = s.openRowProof(decisionRows, string(v.Device), decisionSum(v), proof)
	v.proved, v.altered = proof != nil, !proven
	return v, err
}

func (v decisionRow) meaning() (d fleet.EnrollmentDecision) {
	switch {
	case v.altered:
		d.Altered = true
	case v.decision == rejectedDecision:
		d.Rejected = &v.EnrollmentRequest
	default:
		d.RemovedAt = v.DecidedAt
	}
	return d
}

// EnrollmentDecision returns the decision about a device that is not registered. It returns the zero value if there is
// none.
func (s *Store) EnrollmentDecision(ctx context.Context, id fleet.DeviceID) (fleet.EnrollmentDecision, error) {
	rows, err := collect(ctx, pool{s.reads}, s.scanDecision, selectDecisions+` WHERE device_id = $1`, string(id))
	if err != nil || len(rows) == 0 {
		return fleet.EnrollmentDecision{}, failure("read enrolment decision", err)
	}
	return rows[0].meaning(), nil
}

func (t *tx) enrollmentDecision(id fleet.DeviceID) (fleet.EnrollmentDecision, error) {
	row, err := t.store.scanDecision(t.row(selectDecisions+` WHERE device_id = $1`, string(id)))
	if absent(err) {
		return fleet.EnrollmentDecision{}, nil
	}
	return row.meaning(), err
}

// RejectedEnrollments returns the devices that an administrator rejected, sorted by ID. It leaves out rows that
// another program wrote.
func (s *Store) RejectedEnrollments(ctx context.Context) ([]fleet.EnrollmentRequest, error) {
	rows, err := collect(ctx, pool{s.reads}, s.scanDecision, selectDecisions+` WHERE decision = $1 ORDER BY device_id`,
		rejectedDecision)
	rejected := make([]fleet.EnrollmentRequest, 0, len(rows))
	for _, row := range rows {
		if !row.altered {
			rejected = append(rejected, row.EnrollmentRequest)
		}
	}
	return rejected, failure("read rejected enrolments", err)
}

// RejectEnrollment stores that an administrator rejected a device that asked to be registered. It returns a conflict
// error if the device is registered.
func (s *Store) RejectEnrollment(ctx context.Context, asks fleet.EnrollmentRequest) error {
	_, err := write(ctx, s, "reject enrolment", func(t *tx) (none struct{}, err error) {
		there, err := t.exists(asks.Device)
		if err != nil {
			return none, err
		}
		if there {
			return none, &fleet.Error{Code: fleet.CodeConflict,
				Message: fmt.Sprintf("device %s is registered", asks.Device.Short()), Hint: "Delete the device first."}
		}
		t.record("enrollment.reject", string(asks.Device), strings.TrimSpace(asks.Name+" from "+asks.Address))
		t.decided(asks.Device)
		return none, t.putDecision(asks, rejectedDecision)
	})
	return err
}

func (t *tx) putDecision(of fleet.EnrollmentRequest, decision string) error {
	v := decisionRow{EnrollmentRequest: of, decision: decision}
	for _, text := range []*string{&v.Name, &v.System, &v.Version, &v.Address} {
		*text = plainText(*text)
	}
	v.DecidedBy, v.DecidedAt = plainText(t.who), t.now
	before, err := t.store.scanDecision(t.row(selectDecisions+` WHERE device_id = $1`, string(v.Device)))
	if err != nil && !absent(err) {
		return err
	}
	proof, err := t.proveRow(decisionRows, string(v.Device), decisionSum(v), before.mark)
	if err != nil {
		return err
	}
	return t.exec(putDecision, string(v.Device), v.Name, v.System, v.Version, v.Address, v.APIPort, millis(v.FirstAt),
		millis(v.LastAt), v.DecidedBy, millis(v.DecidedAt), v.decision, proof)
}

// ForgetRejection removes the rejection of a device, which may then ask again. It also removes a decision that another
// program changed. It returns a not-found error for a device that was not rejected.
func (s *Store) ForgetRejection(ctx context.Context, id fleet.DeviceID) error {
	_, err := write(ctx, s, "forget rejection", func(t *tx) (none struct{}, err error) {
		decision, err := t.enrollmentDecision(id)
		if err != nil {
			return none, err
		}
		if decision.Rejected == nil && !decision.Altered {
			return none, fleet.NotFoundf("device %s was not rejected", id.Short())
		}
		t.record("enrollment.forget", string(id), "")
		t.decided(id)
		return none, t.rememberRemoved(id)
	})
	return err
}

// rememberRemoved stores that a device was deleted or that its rejection was removed, so that existing enrol keys do
// not register it again. If there are no enrol keys, it stores nothing and deletes the decision about the device.
func (t *tx) rememberRemoved(id fleet.DeviceID) error {
	var keys int
	if err := t.row(`SELECT COUNT(*) FROM enroll_keys`).Scan(&keys); err != nil {
		return err
	}
	if keys == 0 {
		return t.forgetDecision(id)
	}
	return t.putDecision(fleet.EnrollmentRequest{Arrival: fleet.Arrival{Device: id, APIPort: fleet.DefaultAPIPort}},
		deletedDecision)
}

func (t *tx) forgetDecision(id fleet.DeviceID) error {
	return t.deleteDecisions(`device_id = $1`, string(id))
}

func (t *tx) deleteDecisions(where string, args ...any) error {
	gone, err := collect(t.ctx, t.session, t.store.scanDecision,
		`DELETE FROM enrollment_decisions WHERE `+where+` RETURNING `+enrollmentColumns, args...)
	for _, row := range gone {
		t.effects.marks = t.effects.marks.with(decisionRows, row.mark)
	}
	return err
}

// decided notes, for Options.Committed, that there is a new decision about a device that is not registered.
func (t *tx) decided(id fleet.DeviceID) {
	t.effects.committed.Merge(fleet.Committed{Decided: map[fleet.DeviceID]bool{id: true}})
}

// RenewDevice stores what a registered device reported about itself: port and API key, and the address and pin if they
// are given. The device proved its identity with its own key. Label, tags and other settings stay. An altered device
// is a conflict error.
func (s *Store) RenewDevice(ctx context.Context, r fleet.Renewal) (fleet.Device, error) {
	return write(ctx, s, "renew device", func(t *tx) (fleet.Device, error) {
		current, err := t.device(r.Device)
		switch {
		case err != nil:
			return fleet.Device{}, err
		case current == nil:
			return fleet.Device{}, noDevice(r.Device)
		case current.Altered: // The device's own key proves the device, but not that an administrator let it in.
			return fleet.Device{}, alteredDevice(r.Device)
		}
		is := current.Device
		is.APIKey, is.APIPort = r.APIKey, r.APIPort
		if r.APIAddress != nil {
			is.APIAddress = *r.APIAddress
		}
		if is != current.Device {
			t.record("device.renew", string(r.Device), "by the device's own key")
			if is, err = t.replaceDevice(current, is); err != nil {
				return is, err
			}
		}
		if r.Pin != "" {
			_, err = t.givePin(r.Device, r.Pin)
		}
		return is, err
	})
}
