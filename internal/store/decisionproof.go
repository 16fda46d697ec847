package store

import (
	"context"
	"fmt"
	"strconv"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// What was decided about devices that are not registered keeps them out where an enrol key would let them in. So each
// decision has a proof, and one that is missing is found: no enrol key registers a device then.
const decisionRows = "enrollment_decisions"

// everyDevice is the device of the decision about all of them: keys that were made before it register none.
const everyDevice fleet.DeviceID = ""

func decisionSum(v decisionRow) string {
	return sumOf(decisionRows, string(v.Device), v.decision, v.Name, v.System, v.Version, v.Address,
		strconv.Itoa(v.APIPort), unixMilli(v.FirstAt), unixMilli(v.LastAt), v.DecidedBy, unixMilli(v.DecidedAt))
}

// decisionsIn are all decisions, and the marks that they have together as the ends of the audit say. They were never
// begun in a database of before they were proven, until its first decision or start.
func (s *Store) decisionsIn(ctx context.Context, q querier) (rows []decisionRow, want mark, begun bool, err error) {
	ends, opened, err := s.openEnds(ctx, q)
	if err != nil {
		return nil, want, false, err
	}
	rows, err = collect(ctx, q, s.scanDecision, selectDecisions+` ORDER BY device_id`)
	return rows, marksIn(ends, decisionRows), !opened || ends.Rosters[decisionRows] != "", err
}

func decisionMarks(rows []decisionRow) (all mark) {
	for _, row := range rows {
		all = all.with(row.mark)
	}
	return all
}

// mayRegister answers forbidden where what keeps devices out is not as Muster wrote it, for a key and what is decided
// about its device.
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
	rows, want, begun, err := t.store.decisionsIn(t.ctx, t.session)
	want = want.with(t.pending[decisionRows]).with(t.effects.marks[decisionRows])
	if err == nil && begun && decisionMarks(rows) != want {
		return fleet.ErrDecisionsAltered
	}
	return err
}

const putDecisionProof = `UPDATE enrollment_decisions SET proof = $2 WHERE device_id = $1`

// checkDecisions compares the decisions with their proofs, at the start. Those of before they were proven are
// believed, once. Where one was changed or removed, the keys of until now register no device any more.
func (w *writer) checkDecisions(ctx context.Context) error {
	rows, want, begun, err := w.store.decisionsIn(ctx, w.session)
	if err != nil {
		return err
	}
	if !begun {
		if len(rows) == 0 {
			return nil
		}
		return w.alone(ctx, func(t *tx) error { return t.believeDecisions(rows) })
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

func (t *tx) believeDecisions(rows []decisionRow) error {
	for _, row := range rows {
		proof, err := t.proveRow(decisionRows, string(row.Device), decisionSum(row), mark{})
		if err != nil {
			return err
		}
		if err := t.exec(putDecisionProof, string(row.Device), proof); err != nil {
			return err
		}
	}
	t.record("enrollment.believe", "", fmt.Sprintf("%d decisions about devices were there before and are believed",
		len(rows)))
	return nil
}

const decisionsTampered = "what was decided about devices that are not registered was changed in the database, or a " +
	"decision was removed: enrol keys that were made before register no device"

// renounceDecisions takes the proofs away of decisions that were changed, and decides about every device, so that what
// cannot be known any more lets none in.
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

// verifyDecisions names the decisions that are not as Muster wrote them.
func (s *Store) verifyDecisions(ctx context.Context) (wrong []string, err error) {
	const tries = 10
	for range tries {
		_, before, _, err := s.decisionsIn(ctx, pool{s.reads})
		if err != nil {
			return nil, err
		}
		rows, want, begun, err := s.decisionsIn(ctx, pool{s.reads})
		if err != nil {
			return nil, err
		}
		if before != want { // a write came between
			continue
		}
		for _, row := range rows {
			if row.altered && begun {
				wrong = append(wrong, fmt.Sprintf("the decision about device %q was changed or added: no enrol key registers the "+
					"device. An administrator accepts it, or types `muster enrollment forget %s`", row.Device, row.Device))
			}
		}
		if begun && decisionMarks(rows) != want {
			wrong = append(wrong, decisionsTampered)
		}
		return wrong, nil
	}
	return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the decisions change too often to be verified",
		Hint: tryAgain}
}
