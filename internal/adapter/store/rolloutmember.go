package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

func members(ctx context.Context, q querier, rollout int64) ([]fleet.RolloutMember, error) {
	return collect(ctx, q, func(row scanner) (m fleet.RolloutMember, err error) {
		var errors, held string
		var registered sql.NullInt64
		err = row.Scan((*string)(&m.Device), &m.Wave, (*string)(&m.Was), &errors, &held, &m.From, &m.Waived, &registered)
		if err != nil {
			return m, err
		}
		m.Registered = fromMillis(registered)
		if err = json.Unmarshal([]byte(held), &m.Held); err != nil {
			return m, err
		}
		return m, json.Unmarshal([]byte(errors), &m.Errors)
	}, `SELECT device_id, wave, was, errors, held, from_generation, waived, created_at
		FROM rollout_members JOIN devices ON devices.id = device_id WHERE rollout_id = $1 ORDER BY position`, rollout)
}

const (
	// insertMember inserts a member, unless the device was deleted after the rollout was planned. If the device was
	// deleted and registered again, its created_at ($10) differs, and it is not inserted either.
	insertMember = `INSERT INTO rollout_members
			(rollout_id, device_id, position, wave, was, errors, held, from_generation, waived, superseded)
		SELECT CAST($1 AS BIGINT), id, CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS TEXT), CAST($6 AS TEXT),
			CAST($7 AS TEXT), CAST($8 AS BIGINT), CAST($9 AS BOOLEAN), FALSE
		FROM devices WHERE id = $2 AND created_at = CAST($10 AS BIGINT)`
	// updateMember changes all columns of a member except superseded. It changes nothing if the device was deleted and
	// registered again, because the device is then no longer a member.
	updateMember = `UPDATE rollout_members
		SET position = $3, wave = $4, was = $5, errors = $6, held = $7, from_generation = $8, waived = $9, mark = $11
		WHERE rollout_id = $1 AND device_id = $2
			AND EXISTS (SELECT 1 FROM devices WHERE id = $2 AND created_at = CAST($10 AS BIGINT))`
	markMember = `UPDATE rollout_members SET mark = $3 WHERE rollout_id = $1 AND device_id = $2`
)

func memberArgs(rollout int64, position int, m fleet.RolloutMember) ([]any, error) {
	errors, err := json.Marshal(append([]string{}, m.Errors...))
	if err != nil {
		return nil, err
	}
	held, err := json.Marshal(append([]string{}, m.Held...))
	if err != nil {
		return nil, err
	}
	return []any{rollout, string(m.Device), position, m.Wave, string(m.Was), plainText(string(errors)),
		plainText(string(held)), m.From, m.Waived, millis(m.Registered)}, nil
}

// memberMark returns the mark of a member whose columns have these values. args are from memberArgs; superseded is
// isSuperseded or isNotSuperseded.
func (t *tx) memberMark(args []any, superseded string) []byte {
	content := make([]sql.NullString, 0, len(memberRows.content))
	for _, value := range append(slices.Clone(args[2:9]), superseded) {
		content = append(content, markedValue(value))
	}
	return t.store.markOf(memberRows, keyTexts(args[:2]), content)
}

func (t *tx) insertMembers(rollout int64, members []fleet.RolloutMember) error {
	for i, m := range members {
		args, err := memberArgs(rollout, i, m)
		if err != nil {
			return err
		}
		n, err := t.affect(insertMember, args...)
		if err != nil {
			return err
		}
		if n > 0 {
			made := t.memberMark(args, isNotSuperseded)
			t.countChange(memberRows, keyTexts(args[:2]), nil, made)
			if err := t.exec(markMember, args[0], args[1], made); err != nil {
				return err
			}
		}
	}
	return nil
}

// updateMembers stores the members of a rollout. It changes only the rows that differ, because a step of a rollout
// changes few. A member that is not believed stays so, and a member without a row is skipped.
func (t *tx) updateMembers(rollout int64, members []fleet.RolloutMember) error {
	rows, err := t.store.markedRows(t.ctx, t.session, memberRows, `rollout_id = $1`, rollout)
	if err != nil {
		return err
	}
	known := make(map[string]markedRow, len(rows))
	for _, row := range rows {
		known[row.key[1]] = row
	}
	for i, m := range members {
		was, there := known[string(m.Device)]
		args, err := memberArgs(rollout, i, m)
		if err != nil {
			return err
		}
		made := t.memberMark(args, was.last())
		if !there || was.believed && bytes.Equal(was.mark, made) {
			continue
		}
		if !was.believed {
			made = was.mark
		}
		n, err := t.affect(updateMember, append(args, made)...)
		if err != nil {
			return err
		}
		if n > 0 {
			t.countChange(memberRows, was.key, was.mark, made)
		}
	}
	return nil
}

const isSuperseded, isNotSuperseded = "1", "0"

// supersede sets superseded in all memberships of a device. Answers for these rollouts are then no longer valid for
// the device (see speaksFor).
func (t *tx) supersede(id fleet.DeviceID) error {
	rows, err := t.store.markedRows(t.ctx, t.session, memberRows, `device_id = $1 AND NOT superseded`, string(id))
	if err != nil {
		return err
	}
	for _, row := range rows {
		made := row.mark
		if row.believed {
			content := slices.Clone(row.content)
			content[len(content)-1].String = isSuperseded
			made = t.store.markOf(memberRows, row.key, content)
		}
		rollout, err := strconv.ParseInt(row.key[0], 10, 64)
		if err != nil {
			return err
		}
		err = t.exec(`UPDATE rollout_members SET superseded = TRUE, mark = $3 WHERE rollout_id = $1 AND device_id = $2`,
			rollout, string(id), made)
		if err != nil {
			return err
		}
		t.countChange(memberRows, row.key, row.mark, made)
	}
	return nil
}
