package store

import (
	"context"
	"fmt"
	"strconv"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// decisionRows is the table of decisions about devices that are not registered: the device was rejected, or was
// deleted. A decision keeps a device out even if it presents a valid enrol key. Each decision has a proof (see
// proveRow), so that nobody lets a device in by changing the database. If a decision was changed or removed, older
// enrol keys register no devices any more.
const decisionRows = "enrollment_decisions"

// everyDevice takes the place of a device ID in a decision about all devices. Enrol keys that were made before that
// decision register no device.
const everyDevice fleet.DeviceID = ""

func decisionSum(v decisionRow) string {
	return sumOf(decisionRows, string(v.Device), v.decision, v.Name, v.System, v.Version, v.Address,
		strconv.Itoa(v.APIPort), unixMilli(v.FirstAt), unixMilli(v.LastAt), v.DecidedBy, unixMilli(v.DecidedAt))
}

// decisionsIn reads all decisions. want is the combination of their marks that the ends of the audit expect; zero if
// the ends do not open.
func (s *Store) decisionsIn(ctx context.Context, q querier) (rows []decisionRow, want mark, err error) {
	ends, _, err := s.openEnds(ctx, q)
	if err != nil {
		return nil, want, err
	}
	rows, err = collect(ctx, q, s.scanDecision, selectDecisions+` ORDER BY device_id`)
	return rows, marksIn(ends, decisionRows), err
}

func decisionMarks(rows []decisionRow) (all mark) {
	for _, row := range rows {
		all = all.with(row.mark)
	}
	return all
}

// mayRegister returns a forbidden error if an enrol key may not register a device. decision is the decision about that
// device, or the zero value. The key must be newer than the deletion of the device and than a decision about all
// devices, and all decisions must be as Muster wrote them.
func (t *tx) mayRegister(key fleet.EnrollKey, decision fleet.EnrollmentDecision) error {
	if decision.Altered {
		return fleet.ErrDecisionsAltered
	}
	if !decision.RemovedAt.IsZero() && !key.CreatedAt.After(decision.RemovedAt) {
		return fleet.ErrRemovedSince
	}
	all, err := t.enrollmentDecision(everyDevice)
	if err != nil {
		return err
	}
	if all.Altered || !all.RemovedAt.IsZero() && !key.CreatedAt.After(all.RemovedAt) {
		return fleet.ErrDecisionsAltered
	}
	rows, want, err := t.store.decisionsIn(t.ctx, t.session)
	want = want.with(t.pending.marks[decisionRows]).with(t.effects.marks[decisionRows])
	if err == nil && decisionMarks(rows) != want {
		return fleet.ErrDecisionsAltered
	}
	return err
}

const putDecisionProof = `UPDATE enrollment_decisions SET proof = $2 WHERE device_id = $1`

// checkDecisions compares the decisions with their proofs when the store is opened. If a decision was changed or
// removed, checkDecisions makes sure that the present enrol keys register no more devices.
func (w *writer) checkDecisions(ctx context.Context) error {
	rows, want, err := w.store.decisionsIn(ctx, w.session)
	if err != nil {
		return err
	}
	intact := decisionMarks(rows) == want
	for _, row := range rows {
		if row.altered && row.proved {
			intact = false
			w.store.log.Error("what was decided about a device was changed in the database", logkey.Device, row.Device)
		}
	}
	if intact {
		return nil
	}
	return w.alone(ctx, func(t *tx) error { return t.renounceDecisions(rows, want) })
}

const decisionsTampered = "what was decided about devices that are not registered was changed in the database, or a " +
	"decision was removed: enrol keys that were made before register no device"

// renounceDecisions removes the proofs of decisions that were changed, and adds a decision about all devices. Nobody
// can tell which decision was removed, so no earlier enrol key may register any device. rows are all decisions. want
// is the combination of marks that the ends expect now; afterwards they expect that of the unchanged rows.
func (t *tx) renounceDecisions(rows []decisionRow, want mark) error {
	t.effects.marks = t.effects.marks.with(decisionRows, want)
	for _, row := range rows {
		switch {
		case !row.altered:
			t.effects.marks.with(decisionRows, row.mark)
		case row.proved:
			if err := t.exec(putDecisionProof, string(row.Device), nil); err != nil {
				return err
			}
		}
	}
	t.record(fleet.AuditTampered, decisionRows, decisionsTampered)
	t.store.tampering.add(decisionsTampered)
	return t.putDecision(fleet.EnrollmentRequest{Arrival: fleet.Arrival{Device: everyDevice}}, deletedDecision)
}

// verifyDecisions describes the decisions that are not as Muster wrote them.
func (s *Store) verifyDecisions(ctx context.Context) (wrong []string, err error) {
	const tries = 10
	for range tries {
		_, before, err := s.decisionsIn(ctx, pool{s.reads})
		if err != nil {
			return nil, err
		}
		rows, want, err := s.decisionsIn(ctx, pool{s.reads})
		if err != nil {
			return nil, err
		}
		if before != want { // A write came between the two readings.
			continue
		}
		for _, row := range rows {
			if row.altered {
				wrong = append(wrong, fmt.Sprintf("the decision about device %q was changed or added: no enrol key registers the "+
					"device. An administrator accepts it, or types `muster enrollment forget %s`", row.Device, row.Device))
			}
		}
		if decisionMarks(rows) != want {
			wrong = append(wrong, decisionsTampered)
		}
		return wrong, nil
	}
	return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the decisions change too often to be verified",
		Hint: tryAgain}
}
