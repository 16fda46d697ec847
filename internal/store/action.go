package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"

	"muster/internal/fleet"
)

const keptActionRuns = 500 // the newest, and what still runs

const selectActionRuns = `
	SELECT id, action, folder, major, tag, devices, done, skipped, status, reason, made_by, began_at, ended_at
	FROM action_runs`

// BeginActionRun keeps a new run and gives it its ID.
func (s *Store) BeginActionRun(ctx context.Context, run fleet.ActionRun) (fleet.ActionRun, error) {
	return write(ctx, s, "keep an order", func(t *tx) (fleet.ActionRun, error) {
		if !storable(run.Folder, maxFolderBytes) {
			return run, fleet.Invalidf("folder", "a folder's ID is text of at most %d bytes without NUL characters",
				maxFolderBytes)
		}
		devices, err := json.Marshal(run.Devices)
		if err != nil {
			return run, err
		}
		run.By, run.BeganAt = t.who, t.now
		if err := t.row(`
			INSERT INTO action_runs (action, folder, major, tag, devices, done, skipped, status, reason, made_by, began_at)
			VALUES ($1, $2, $3, $4, $5, 0, '[]', $6, '', $7, $8) RETURNING id`,
			string(run.Action), run.Folder, run.Major, string(run.Tag), string(devices), string(run.Status),
			plainText(run.By), run.BeganAt.UnixMilli()).Scan(&run.ID); err != nil {
			return run, err
		}
		t.recordActionRun(run)
		return run, t.exec(`DELETE FROM action_runs WHERE id <= $1 AND status <> $2`, run.ID-keptActionRuns,
			string(fleet.ActionRunning))
	})
}

func (t *tx) recordActionRun(run fleet.ActionRun) {
	detail := fmt.Sprintf("order %d", run.ID)
	if run.Folder != "" {
		detail += fmt.Sprintf(", folder %q", run.Folder)
	}
	if run.Major {
		detail += ", also to another major version"
	}
	if run.Tag == "" {
		t.record("device."+string(run.Action), string(run.Devices[0]), detail)
		return
	}
	t.record("tag."+string(run.Action), string(run.Tag), fmt.Sprintf("%s, %d devices", detail, len(run.Devices)))
}

// PutActionRun keeps how far a run is; where it has ended, also in the audit.
func (s *Store) PutActionRun(ctx context.Context, run fleet.ActionRun) error {
	_, err := write(ctx, s, "keep how far an order is", func(t *tx) (none struct{}, err error) {
		skipped, err := json.Marshal(append([]fleet.DeviceID{}, run.Skipped...))
		if err != nil {
			return none, err
		}
		ended := run.Status != fleet.ActionRunning
		if ended {
			run.EndedAt = t.now
			subject := strconv.FormatInt(run.ID, 10)
			if run.Tag == "" {
				subject = string(run.Devices[0])
			}
			t.record("action.ended", subject, fmt.Sprintf("order %d %s: %s", run.ID, run.Status, run.Reason))
		}
		return none, t.exec(`UPDATE action_runs SET done = $1, skipped = $2, status = $3, reason = $4, ended_at = $5
			WHERE id = $6`, run.Done, string(skipped), string(run.Status), plainText(run.Reason), millis(run.EndedAt), run.ID)
	})
	return err
}

// ActionRuns are those that are kept, newest first.
func (s *Store) ActionRuns(ctx context.Context) ([]fleet.ActionRun, error) {
	runs, err := collect(ctx, pool{s.reads}, scanActionRun, selectActionRuns+` ORDER BY id DESC`)
	return runs, failure("read orders", err)
}

// ActionRun is one of them.
func (s *Store) ActionRun(ctx context.Context, id int64) (fleet.ActionRun, error) {
	runs, err := collect(ctx, pool{s.reads}, scanActionRun, selectActionRuns+` WHERE id = $1`, id)
	if err == nil && len(runs) == 0 {
		return fleet.ActionRun{}, fleet.NotFoundf("there is no order %d, or not any more", id)
	}
	if err != nil {
		return fleet.ActionRun{}, failure("read an order", err)
	}
	return runs[0], nil
}

func scanActionRun(row scanner) (run fleet.ActionRun, err error) {
	var devices, skipped string
	var began, ended sql.NullInt64
	if err := row.Scan(&run.ID, (*string)(&run.Action), &run.Folder, &run.Major, (*string)(&run.Tag), &devices, &run.Done,
		&skipped, (*string)(&run.Status), &run.Reason, &run.By, &began, &ended); err != nil {
		return run, err
	}
	run.BeganAt, run.EndedAt = fromMillis(began), fromMillis(ended)
	if err := json.Unmarshal([]byte(devices), &run.Devices); err != nil {
		return run, fmt.Errorf("read the devices of an order: %w", err)
	}
	if err := json.Unmarshal([]byte(skipped), &run.Skipped); err != nil {
		return run, fmt.Errorf("read the devices of an order: %w", err)
	}
	return run, nil
}
