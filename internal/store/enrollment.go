package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// EnrollDevice registers a device that is not registered, with its tags, and counts one use of its key, in one
// transaction. A device that is registered is a conflict, and stays as it is; one that was rejected is forbidden to all
// but an administrator.
func (s *Store) EnrollDevice(ctx context.Context, e fleet.Enrollment) (fleet.Device, error) {
	return write(ctx, s, "enrol device", func(t *tx) (fleet.Device, error) {
		there, err := t.exists(e.Device.ID)
		if err != nil {
			return fleet.Device{}, err
		}
		if there {
			return fleet.Device{}, &fleet.Error{Code: fleet.CodeConflict,
				Message: fmt.Sprintf("device %s is registered already", e.Device.ID.Short()),
				Hint:    "`muster enroll` on its machine, without tags, renews its certificate and API key."}
		}
		tags := e.Tags
		if e.KeyHash != "" {
			decision, err := t.enrollmentDecision(e.Device.ID)
			if err != nil {
				return fleet.Device{}, err
			}
			if decision.Rejected != nil {
				return fleet.Device{}, fleet.RejectedEnrollment()
			}
			key, err := t.useEnrollKey(e.KeyHash, decision)
			if err != nil {
				return fleet.Device{}, err
			}
			tags, t.who = key.Tags, key.Actor() // an administrator gave the key its tags
		}
		return t.enrollDevice(e, tags)
	})
}

func (t *tx) enrollDevice(e fleet.Enrollment, tags []fleet.Tag) (fleet.Device, error) {
	if err := e.Device.ValidateKeyless(); err != nil {
		return e.Device, err
	}
	t.record("enrollment.accept", string(e.Device.ID), e.Detail)
	stored, err := t.insertDevice(e.Device)
	if err != nil {
		return stored, err
	}
	if e.Pin != "" {
		if _, err := t.givePin(stored.ID, e.Pin); err != nil {
			return stored, err
		}
	}
	return stored, t.tagNewDevice(stored.ID, tags)
}

// tagNewDevice gives a device that has no tags all of them, in one generation. The caller knows that they may be given.
func (t *tx) tagNewDevice(id fleet.DeviceID, tags []fleet.Tag) error {
	tags = slices.Compact(slices.Sorted(slices.Values(tags)))
	if len(tags) == 0 {
		return nil
	}
	generation, err := t.generation(fmt.Sprintf("device %s: enrolled with %s", id, textOf(tags)))
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if _, err := fleet.ParseTag(string(tag)); err != nil {
			return err
		}
		if err := t.exec(`INSERT INTO device_tags (device_id, tag) VALUES ($1, $2)`, string(id), string(tag)); err != nil {
			return err
		}
		if err := t.rememberTag(deviceTags, generation, string(id), tag, true); err != nil {
			return err
		}
		t.record("device.tag", string(id), string(tag))
	}
	t.register(func(c *contents) { c.device(id, func(r *fleet.Registered) { r.Tags = tags }) })
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
	mark     mark // none where the proof does not open
	proved   bool // the row has a proof, whether or not it is of what the row means
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

// EnrollmentDecision is what is kept about a device that is not registered; the zero value: nothing.
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

// RejectedEnrollments are the devices that an administrator rejected, by ID, without what another program wrote.
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

// RejectEnrollment keeps that a device that asks to be registered was rejected.
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

// ForgetRejection has a device that was rejected be one that asks again. It answers not_found for a device that was not
// rejected.
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

// rememberRemoved keeps that a device is not registered any more, or not rejected any more, as long as there are keys
// that could register it.
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

// decided says that something was decided about a device that is not registered.
func (t *tx) decided(id fleet.DeviceID) {
	t.effects.committed.Merge(fleet.Committed{Decided: map[fleet.DeviceID]bool{id: true}})
}

// RenewDevice gives a registered device the access that the device itself, proven by its own key, says. Label, tags and
// settings stay.
func (s *Store) RenewDevice(ctx context.Context, r fleet.Renewal) (fleet.Device, error) {
	return write(ctx, s, "renew device", func(t *tx) (fleet.Device, error) {
		current, err := t.device(r.Device)
		switch {
		case err != nil:
			return fleet.Device{}, err
		case current == nil:
			return fleet.Device{}, noDevice(r.Device)
		case current.Altered: // its own key proves the device, not that an administrator let it in
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
