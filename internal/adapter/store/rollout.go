package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"muster/internal/fleet"
)

// rolloutBody is the part of a rollout that has no column of its own, as it is stored in JSON.
type rolloutBody struct {
	Before       int64            `json:"before"`
	Carries      []int64          `json:"carries"`
	Cause        string           `json:"cause"`
	Reason       string           `json:"reason,omitempty"`
	Next         string           `json:"next,omitempty"`
	Waves        []int            `json:"waves,omitempty"`
	Wave         int              `json:"wave,omitempty"`
	Halt         *rolloutHalt     `json:"halt,omitempty"`
	WavePlan     []string         `json:"wavePlan,omitempty"`
	Approval     *rolloutApproval `json:"approval,omitempty"`
	Undoes       int64            `json:"undoes,omitempty"`
	UndoneBy     int64            `json:"undoneBy,omitempty"`
	SupersededBy int64            `json:"supersededBy,omitempty"`
	StartedAt    int64            `json:"startedAt,omitempty"` // All times are Unix milliseconds; 0: not yet.
	WaveAt       int64            `json:"waveAt,omitempty"`
	EndedAt      int64            `json:"endedAt,omitempty"`
}

type rolloutHalt struct {
	By     string         `json:"by"`
	Gate   fleet.Gate     `json:"gate,omitempty"`
	Device fleet.DeviceID `json:"device,omitempty"`
	Saw    string         `json:"saw"`
	At     int64          `json:"at"`
}

type rolloutApproval struct {
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
	At     int64  `json:"at,omitempty"`
}

func bodyOf(r fleet.Rollout) rolloutBody {
	b := rolloutBody{
		Before: r.Before, Carries: r.Carries, Cause: plainText(r.Cause), Reason: plainText(r.Reason), Next: r.Next,
		WavePlan: r.WavePlan, Waves: r.Waves, Wave: r.Wave,
		Undoes: r.Undoes, UndoneBy: r.UndoneBy, SupersededBy: r.SupersededBy,
		StartedAt: bodyTime(r.StartedAt), WaveAt: bodyTime(r.WaveAt), EndedAt: bodyTime(r.EndedAt),
	}
	if h := r.Halt; h != nil {
		b.Halt = &rolloutHalt{h.By, h.Gate, h.Device, plainText(h.Saw), bodyTime(h.At)}
	}
	if a := r.Approval; a != nil {
		b.Approval = &rolloutApproval{a.Reason, plainText(a.By), bodyTime(a.At)}
	}
	return b
}

func (b rolloutBody) into(r *fleet.Rollout) {
	r.Before, r.Carries, r.Cause, r.Reason, r.Next = b.Before, b.Carries, b.Cause, b.Reason, b.Next
	r.WavePlan, r.Waves, r.Wave = b.WavePlan, b.Waves, b.Wave
	r.Undoes, r.UndoneBy, r.SupersededBy = b.Undoes, b.UndoneBy, b.SupersededBy
	r.StartedAt, r.WaveAt, r.EndedAt = timeOf(b.StartedAt), timeOf(b.WaveAt), timeOf(b.EndedAt)
	if h := b.Halt; h != nil {
		r.Halt = &fleet.RolloutHalt{By: h.By, Gate: h.Gate, Device: h.Device, Saw: h.Saw, At: timeOf(h.At)}
	}
	if a := b.Approval; a != nil {
		r.Approval = &fleet.Approval{Reason: a.Reason, By: a.By, At: timeOf(a.At)}
	}
}

func bodyTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time { return fromMillis(sql.NullInt64{Int64: ms, Valid: ms != 0}) }

const (
	openOnly = ` WHERE status NOT IN ('undone', 'succeeded', 'superseded')`
)

var selectRollouts = `SELECT id, generation, status, body, created_at, ` + rolloutRows.columns("") + ` FROM rollouts`

// scanRollout reads a rollout. A rollout whose row is not believed counts as paused and as approved by nobody.
func (s *Store) scanRollout(row scanner) (fleet.Rollout, error) {
	read, err := believing(s, rolloutRows, scanRolloutRow)(row)
	r := read.value
	if err == nil && !read.believed && !r.Status.Over() {
		r = unproven(r)
	}
	return r, err
}

// unproven returns an open rollout as it counts while its row is not believed.
func unproven(r fleet.Rollout) fleet.Rollout {
	r.Status, r.Reason = fleet.RolloutPaused, "its row in the database was not written by Muster"
	r.Next = "Type `muster audit verify`, look at what the rollout changes, and resume it or undo it."
	if r.Approval != nil {
		r.Approval = &fleet.Approval{Reason: r.Approval.Reason}
	}
	return r
}

// pauseUnproven stores the open rollouts in doubt as they count while their rows are not believed.
func (t *tx) pauseUnproven(d doubt) error {
	open, err := collect(t.ctx, t.session, t.store.scanRollout, selectRollouts+openOnly)
	if err != nil {
		return err
	}
	for _, r := range open {
		if !d.every() && !d.names(strconv.FormatInt(r.ID, 10)) {
			continue
		}
		body, err := json.Marshal(bodyOf(unproven(r)))
		if err != nil {
			return err
		}
		if err := t.exec(`UPDATE rollouts SET status = $2, body = $3 WHERE id = $1`, r.ID, string(fleet.RolloutPaused),
			string(body)); err != nil {
			return err
		}
	}
	return nil
}

func scanRolloutRow(row scanner) (r fleet.Rollout, err error) {
	var body string
	var created sql.NullInt64
	if err = row.Scan(&r.ID, &r.Generation, (*string)(&r.Status), &body, &created); err != nil {
		return r, err
	}
	r.CreatedAt = fromMillis(created)
	var b rolloutBody
	err = json.Unmarshal([]byte(body), &b)
	b.into(&r)
	return r, err
}

// Rollouts returns all rollouts, newest first, without their members.
func (s *Store) Rollouts(ctx context.Context) ([]fleet.Rollout, error) {
	rollouts, err := collect(ctx, pool{s.reads}, s.scanRollout, selectRollouts+` ORDER BY id DESC`)
	return rollouts, failure("read rollouts", err)
}

// OpenRollouts returns the rollouts that are not over, oldest first, with their members. It reads them in the writer's
// goroutine, after every write that was queued before. So Admission already has what the returned rollouts decided.
func (s *Store) OpenRollouts(ctx context.Context) ([]fleet.Rollout, error) {
	return write(ctx, s, "read rollouts", func(t *tx) ([]fleet.Rollout, error) {
		rollouts, err := collect(t.ctx, t.session, s.scanRollout, selectRollouts+openOnly+` ORDER BY id`)
		for i := range rollouts {
			if err == nil {
				rollouts[i].Members, err = members(t.ctx, t.session, rollouts[i].ID)
			}
		}
		return rollouts, err
	})
}

// Rollout returns the rollout with this ID, with its members.
func (s *Store) Rollout(ctx context.Context, id int64) (fleet.Rollout, error) {
	r, err := s.scanRollout(s.reads.QueryRowContext(ctx, selectRollouts+` WHERE id = $1`, id))
	if absent(err) {
		return r, fleet.NotFoundf("there is no rollout %d", id)
	}
	if err == nil {
		r.Members, err = members(ctx, pool{s.reads}, id)
	}
	return r, failure("read rollout", err)
}

// settled returns the settled generation: the newest one for which rollouts have decided which devices are admitted.
func (s *Store) settled(ctx context.Context) (generation int64, err error) {
	var text string
	err = s.reads.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'settled_generation'`).Scan(&text)
	return metaNumber(text), failure("read the settled generation", err)
}

// holds returns the devices that rollouts keep at an older generation, with that generation.
func (s *Store) holds(ctx context.Context) ([]fleet.Hold, error) {
	holds, err := collect(ctx, pool{s.reads}, func(row scanner) (h fleet.Hold, err error) {
		return h, row.Scan((*string)(&h.Device), &h.Generation, &h.Rollout)
	}, `SELECT device_id, generation, rollout_id FROM holds ORDER BY device_id`)
	return holds, failure("read holds", err)
}

// PutRollouts stores everything that one step of a rollout changed, or nothing. created has the IDs of the new
// rollouts, in the order of w.Rollouts. When PutRollouts returns, the admission that follows from w is in force.
func (s *Store) PutRollouts(ctx context.Context, w fleet.RolloutWrite) (created []int64, err error) {
	pasts, err := s.pastsOf(ctx, w.Hold)
	if err != nil {
		return nil, err
	}
	return write(ctx, s, "put rollouts", func(t *tx) ([]int64, error) { return t.putRollouts(w, pasts) })
}

func (t *tx) putRollouts(w fleet.RolloutWrite, pasts map[int64]*fleet.Registry) (created []int64, err error) {
	for _, id := range w.Touched {
		if err := t.supersede(id); err != nil {
			return nil, err
		}
	}
	for _, r := range w.Rollouts {
		id, err := t.putRollout(r)
		if err != nil {
			return nil, err
		}
		if r.ID == 0 {
			created = append(created, id)
		}
	}
	for _, h := range w.Release {
		if err := t.release(h); err != nil {
			return nil, err
		}
	}
	held, err := t.hold(w.Hold, created)
	if err != nil {
		return nil, err
	}
	for _, g := range w.Consents {
		if g.Rollout == 0 && len(created) > 0 {
			g.Rollout = created[0]
		}
		if err := t.consentToRemovals(g); err != nil {
			return nil, err
		}
	}
	t.admit(fleet.AdmissionChange{Settled: w.Settled, Hold: held, Release: w.Release, Pasts: pasts})
	t.effects.committed.Admitted = append(t.effects.committed.Admitted, w.Wake...)
	return created, t.settle(w.Settled)
}

func (t *tx) settle(registry *fleet.Registry) error {
	if registry == nil {
		return nil
	}
	return t.putNextMeta("settled_generation", strconv.FormatInt(registry.Generation, 10))
}

// hold stores holds, and returns the stored ones. A hold with Rollout 0 belongs to the last rollout in created. hold
// leaves out devices that are not members of their rollout: they were deleted, and the rollout engine may not know
// that yet.
func (t *tx) hold(holds []fleet.Hold, created []int64) (held []fleet.Hold, err error) {
	for _, h := range holds {
		if h.Rollout == 0 && len(created) > 0 {
			h.Rollout = created[len(created)-1]
		}
		err := t.unmark(holdRows, `device_id = $1 AND EXISTS
			(SELECT 1 FROM rollout_members m WHERE m.device_id = $1 AND m.rollout_id = $2)`, string(h.Device), h.Rollout)
		if err != nil {
			return nil, err
		}
		n, err := t.affect(`INSERT INTO holds (device_id, generation, rollout_id)
			SELECT device_id, CAST($2 AS BIGINT), rollout_id FROM rollout_members WHERE device_id = $1 AND rollout_id = $3
			ON CONFLICT (device_id) DO UPDATE SET generation = excluded.generation, rollout_id = excluded.rollout_id`,
			string(h.Device), h.Generation, h.Rollout)
		if err == nil && n > 0 { // A hold that stays as it was keeps its mark, or its lack of one.
			held, err = append(held, h), t.mark(holdRows, string(h.Device))
		}
		if err != nil {
			return nil, err
		}
	}
	return held, nil
}

func (t *tx) release(h fleet.Hold) error {
	const of = `device_id = $1 AND rollout_id = $2`
	if err := t.unmark(holdRows, of, string(h.Device), h.Rollout); err != nil {
		return err
	}
	return t.exec(`DELETE FROM holds WHERE `+of, string(h.Device), h.Rollout)
}

func (t *tx) putRollout(r fleet.Rollout) (id int64, err error) {
	body, err := json.Marshal(bodyOf(r))
	if err != nil {
		return 0, err
	}
	if r.ID != 0 {
		if err := t.changeRollout(r, string(body)); err != nil {
			return 0, err
		}
		return r.ID, t.updateMembers(r.ID, r.Members)
	}
	err = t.row(`INSERT INTO rollouts (generation, status, body, created_at) VALUES ($1, $2, $3, $4) RETURNING id`,
		r.Generation, string(r.Status), string(body), millis(t.now)).Scan(&r.ID)
	if err != nil {
		return 0, err
	}
	if err := t.mark(rolloutRows, r.ID); err != nil {
		return 0, err
	}
	t.record("rollout.begin", strconv.FormatInt(r.ID, 10), r.Cause)
	return r.ID, t.insertMembers(r.ID, r.Members)
}

// recordApproval adds an entry to the audit if a rollout gets its approval. wasBody is the body of the present row. The
// time of the approval is compared, too: the row may be one that another program wrote.
func (t *tx) recordApproval(r fleet.Rollout, wasBody string) {
	if r.Approval == nil || r.Approval.By == "" {
		return
	}
	var was rolloutBody
	given := bodyOf(r).Approval
	if err := json.Unmarshal([]byte(wasBody), &was); err == nil && was.Approval != nil && *was.Approval == *given {
		return
	}
	by := r.Approval.By
	switch t.person {
	case by:
	case "":
		by += ", of whom it is not known which person it is"
	default:
		by = fmt.Sprintf("%s with the token %s", t.person, by)
	}
	wave := "wave 1"
	if len(r.Waves) > 0 {
		wave = fmt.Sprintf("wave 1 of %d", len(r.Waves))
	}
	t.record("rollout.approve", strconv.FormatInt(r.ID, 10),
		fmt.Sprintf("approved by %s, so that %s can begin: %s", by, wave, r.Cause))
}

func (t *tx) changeRollout(r fleet.Rollout, body string) error {
	var was, wasBody string
	err := t.row(`SELECT status, body FROM rollouts WHERE id = $1`, r.ID).Scan(&was, &wasBody)
	if absent(err) {
		return fleet.NotFoundf("there is no rollout %d", r.ID)
	}
	if err != nil {
		return err
	}
	t.recordApproval(r, wasBody)
	if was != string(r.Status) {
		t.record("rollout."+string(r.Status), strconv.FormatInt(r.ID, 10), r.Reason)
	}
	return t.marking(rolloutRows, func() error {
		return t.exec(`UPDATE rollouts SET generation = $2, status = $3, body = $4 WHERE id = $1`, r.ID, r.Generation,
			string(r.Status), body)
	}, r.ID)
}
