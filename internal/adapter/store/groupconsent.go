package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// PutGroupConsents stores, in one transaction, a person's answers that hold for all members of a rollout, and the
// single consents (GroupConsent.Now) of those members whose changes wait already. It returns both with their IDs. The
// returned Now lacks the consents that were not stored (see PutConsents).
func (s *Store) PutGroupConsents(ctx context.Context, given []fleet.GroupConsent) ([]fleet.GroupConsent, error) {
	return write(ctx, s, "put group consents", func(t *tx) ([]fleet.GroupConsent, error) {
		kept := slices.Clone(given)
		for i := range kept {
			g := &kept[i]
			var err error
			if g.ID, err = t.putGroupConsent(*g); err != nil {
				return nil, err
			}
			now := slices.Clone(g.Now)
			for i := range now {
				now[i].Group = g.ID
			}
			if g.Now, err = t.putConsents(now); err != nil {
				return nil, err
			}
		}
		return kept, nil
	})
}

func (t *tx) putGroupConsent(g fleet.GroupConsent) (id int64, err error) {
	var there int
	if err := t.row(`SELECT COUNT(*) FROM rollouts WHERE id = $1`, g.Rollout).Scan(&there); err != nil {
		return 0, err
	}
	if there == 0 {
		return 0, fleet.NotFoundf("there is no rollout %d", g.Rollout)
	}
	if !storable(g.Key, maxBaseKeyBytes) {
		return 0, fleet.Invalidf("key", "a key is UTF-8 text of at most %d bytes", maxBaseKeyBytes)
	}
	err = t.row(`
		INSERT INTO group_consents (rollout_id, key, change, answer, removals, given_by, given_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`,
		g.Rollout, g.Key, g.Change, string(g.Answer), g.Removals, plainText(g.By), g.At.UnixMilli()).Scan(&id)
	if err != nil {
		return 0, err
	}
	return id, t.mark(groupConsentRows, id)
}

// consentToRemovals stores g, a person's consent to removals and re-creations of an undo. It also stores one consent
// with an empty key for each member of g.Rollout in g.Shown: with the digests that g shows of the member, and the time
// (Until) until which g is valid for it. The audit names the keys and these members.
func (t *tx) consentToRemovals(g fleet.GroupConsent) error {
	id, err := t.putGroupConsent(g)
	if err != nil {
		return err
	}
	digests := map[fleet.DeviceID][]string{}
	for _, shown := range g.Shown {
		digests[shown.Device] = append(digests[shown.Device], shown.Digest)
	}
	consented := map[fleet.DeviceID]bool{}
	for _, device := range slices.Sorted(maps.Keys(digests)) {
		var consent int64
		err := t.row(`INSERT INTO consents (device_id, key, answer, change, given_by, given_at, until, group_id)
			SELECT m.device_id, '', g.answer, CAST($3 AS TEXT), g.given_by, g.given_at, CAST($2 AS BIGINT), g.id
			FROM group_consents g JOIN rollout_members m ON m.rollout_id = g.rollout_id AND m.device_id = $4
			WHERE g.id = $1 RETURNING id`, id, g.At.Add(fleet.ConsentTime).UnixMilli(),
			strings.Join(digests[device], " "), string(device)).Scan(&consent)
		if absent(err) {
			continue // The device was deleted meanwhile.
		}
		if err == nil {
			err = t.mark(consentRows, consent)
		}
		if err != nil {
			return err
		}
		consented[device] = true
		t.effects.committed.Consented = append(t.effects.committed.Consented, device)
	}
	t.recordConsent(g, consented)
	return nil
}

// recordConsent adds entries to the audit that name each key to whose change an undo consents, and the devices.
func (t *tx) recordConsent(g fleet.GroupConsent, consented map[fleet.DeviceID]bool) {
	const devicesInEntry = 50
	byKey := map[string][]string{}
	for _, shown := range g.Shown {
		if key := g.Keys[shown]; consented[shown.Device] {
			byKey[key] = append(byKey[key], string(shown.Device))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		for devices := range slices.Chunk(slices.Sorted(slices.Values(byKey[key])), devicesInEntry) {
			t.record("rollout.consent", strconv.FormatInt(g.Rollout, 10),
				"consent to "+key+" on "+strings.Join(devices, ", "))
		}
	}
}

// GroupConsents returns the answers for a whole rollout that are valid for this device now, newest first.
func (s *Store) GroupConsents(ctx context.Context, device fleet.DeviceID) ([]fleet.GroupConsent, error) {
	now := s.now()
	// An answer is valid only if every row that it depends on is believed: the group consent, the rollout, the member
	// and, for removals, the device's own consent.
	timed := func(row scanner) (g fleet.GroupConsent, err error) {
		var status fleet.RolloutStatus
		var body string
		var shown sql.NullString
		var at, until, away sql.NullInt64
		if err := row.Scan(&g.ID, &g.Rollout, &g.Key, &g.Change, (*string)(&g.Answer), &g.Removals, &g.By, &at,
			(*string)(&status), &body, &shown, &until, &away); err != nil {
			return g, err
		}
		g.At = fromMillis(at)
		if g.Removals {
			if (fleet.Consent{Until: fromMillis(until), UnreachableSince: fromMillis(away)}).Over(now) {
				return fleet.GroupConsent{}, nil
			}
			for digest := range strings.FieldsSeq(shown.String) {
				g.Shown = append(g.Shown, fleet.ShownChange{Device: device, Digest: digest})
			}
			return g, nil
		}
		var b rolloutBody
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			return g, err
		}
		if status.Over() && !now.Before(timeOf(b.EndedAt).Add(fleet.GroupConsentTime)) {
			return fleet.GroupConsent{}, nil
		}
		return g, nil
	}
	scan := func(row scanner) (fleet.GroupConsent, error) {
		consent, rollout, member := s.newMarkReader(consentRows), s.newMarkReader(rolloutRows), s.newMarkReader(memberRows)
		g, err := timed(alsoMarks{alsoMarks{alsoMarks{row, member}, rollout}, consent})
		if !rollout.believed() || !member.believed() || g.Removals && !consent.believed() {
			return fleet.GroupConsent{}, err
		}
		return g, err
	}
	read, err := collect(ctx, pool{s.reads}, believing(s, groupConsentRows, scan), `
		SELECT g.id, g.rollout_id, g.key, g.change, g.answer, g.removals, g.given_by, g.given_at, r.status, r.body, c.change,
			c.until, c.unreachable_since, `+consentRows.columns("c")+`, `+rolloutRows.columns("r")+`,
			`+memberRows.columns("m")+`, `+groupConsentRows.columns("g")+`
		FROM group_consents g JOIN rollouts r ON r.id = g.rollout_id
		JOIN rollout_members m ON m.rollout_id = g.rollout_id AND m.device_id = $1
		LEFT JOIN consents c ON c.group_id = g.id AND c.device_id = $1 AND c.key = '' AND c.closed_at IS NULL
		WHERE g.rollout_id = (`+speaksFor+`) ORDER BY g.id DESC`, string(device))
	return slices.DeleteFunc(onlyBelieved(read), func(g fleet.GroupConsent) bool { return g.ID == 0 }),
		failure("read group consents", err)
}

// speaksFor is SQL for the rollout whose answers are valid for device $1: the newest rollout of which the device is a
// member. A later change that affects the device supersedes its memberships; then there is no such rollout.
const speaksFor = `SELECT MAX(rollout_id) FROM rollout_members WHERE device_id = $1 AND NOT superseded`

// RolloutsOfDevices returns, for each device, the rollout whose answers are valid for it (see speaksFor).
func (s *Store) RolloutsOfDevices(ctx context.Context) (map[fleet.DeviceID]int64, error) {
	type row struct {
		device  fleet.DeviceID
		rollout int64
	}
	rows, err := collect(ctx, pool{s.reads}, func(scan scanner) (r row, err error) {
		return r, scan.Scan((*string)(&r.device), &r.rollout)
	}, `SELECT device_id, MAX(rollout_id) FROM rollout_members WHERE NOT superseded GROUP BY device_id`)
	rollouts := make(map[fleet.DeviceID]int64, len(rows))
	for _, r := range rows {
		rollouts[r.device] = r.rollout
	}
	return rollouts, failure("read rollouts of devices", err)
}

// GivenConsents returns the newest answers, whether they were used or not. most is how many it returns at most.
func (s *Store) GivenConsents(ctx context.Context, most int) ([]fleet.GivenConsent, error) {
	given, err := collect(ctx, pool{s.reads}, func(row scanner) (c fleet.GivenConsent, err error) {
		var at, until, closed, intent, group, rollout sql.NullInt64
		err = row.Scan(&c.ID, (*string)(&c.Device), &c.Key, (*string)(&c.Answer), &c.Change, &c.By, &at, &until, &closed,
			&intent, &group, &rollout)
		c.At, c.Until, c.Closed = fromMillis(at), fromMillis(until), fromMillis(closed)
		c.Used = intent.Valid
		c.Intent, c.Group, c.Rollout = intent.Int64, group.Int64, rollout.Int64
		return c, err
	}, `
		SELECT c.id, c.device_id, c.key, c.answer, c.change, c.given_by, c.given_at, c.until, c.closed_at, c.intent_id,
			c.group_id, g.rollout_id
		FROM consents c LEFT JOIN group_consents g ON g.id = c.group_id
		WHERE c.key <> '' ORDER BY c.id DESC LIMIT $1`, most)
	return given, failure("read consents", err)
}
