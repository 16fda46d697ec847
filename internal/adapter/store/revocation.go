package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

const selectRevocations = `SELECT device_id, label, reason, revoked_by, revoked_at FROM revocations`

// changeRevocations revokes the devices in Revoke, and ends the revocations of those in Readmit. A device that is
// revoked already is a conflict.
func (e *editing) changeRevocations() error {
	for _, one := range e.Revoke {
		if err := e.revoke(one); err != nil {
			return err
		}
	}
	for _, id := range e.Readmit {
		if err := e.readmit(id); err != nil {
			return err
		}
	}
	return nil
}

func (e *editing) revoke(one fleet.Revocation) error {
	switch was, err := e.revocation(one.Device); {
	case err == nil:
		return was.RevokedAlready()
	case !absent(err):
		return err
	}
	one.By, one.At = plainText(one.By), e.now
	write := func() error {
		return e.exec(`INSERT INTO revocations (device_id, label, reason, revoked_by, revoked_at)
			VALUES ($1, $2, $3, $4, $5)`, string(one.Device), one.Label, one.Reason, one.By, millis(one.At))
	}
	e.record("device.revoke", string(one.Device), one.Reason)
	return e.inRevocation(one.Device, write, func(all map[fleet.DeviceID]fleet.Revocation) { all[one.Device] = one })
}

func (e *editing) readmit(id fleet.DeviceID) error {
	if _, err := e.revocation(id); err != nil {
		if absent(err) {
			return fleet.NotRevoked(id)
		}
		return err
	}
	if err := e.forgetRevocationProofs(id); err != nil {
		return err
	}
	write := func() error { return e.exec(`DELETE FROM revocations WHERE device_id = $1`, string(id)) }
	e.record("revocation.delete", string(id), "")
	return e.inRevocation(id, write, func(all map[fleet.DeviceID]fleet.Revocation) { delete(all, id) })
}

// inRevocation calls write, which changes the row of one revocation, in the edit's generation. After the commit it
// calls change to make the same change in the revocations in memory.
func (e *editing) inRevocation(id fleet.DeviceID, write func() error,
	change func(map[fleet.DeviceID]fleet.Revocation)) error {
	return e.inGeneration(func(int64) error {
		e.register(func(c *contents) {
			c.putRevocations(change)
		})
		e.effects.committed.Merge(fleet.Committed{Revoked: true, Decided: map[fleet.DeviceID]bool{id: true}})
		return e.marking(revocationRows, write, string(id))
	})
}

// putRevocations copies the revocations, calls change with the copy, and stores it in c. The map becomes nil if it is
// empty.
func (c *contents) putRevocations(change func(map[fleet.DeviceID]fleet.Revocation)) {
	all := map[fleet.DeviceID]fleet.Revocation{}
	maps.Copy(all, c.revocations)
	if change(all); len(all) == 0 {
		all = nil
	}
	c.revocations = all
}

func (t *tx) revocation(id fleet.DeviceID) (fleet.Revocation, error) {
	return scanRevocation(t.row(selectRevocations+` WHERE device_id = $1`, string(id)))
}

func scanRevocation(row scanner) (one fleet.Revocation, err error) {
	var at int64
	err = row.Scan((*string)(&one.Device), &one.Label, &one.Reason, &one.By, &at)
	one.At = timeOf(at)
	return one, err
}

func (s *Store) loadRevocations(ctx context.Context, q querier, c *contents) error {
	all, err := collect(ctx, q, scanRevocation, selectRevocations)
	c.putRevocations(func(into map[fleet.DeviceID]fleet.Revocation) {
		for _, one := range all {
			into[one.Device] = one
		}
	})
	return err
}

// refuseRevoked returns an error if the device is revoked. A revoked device cannot be enrolled, neither with an enrol
// key nor by an administrator.
func (t *tx) refuseRevoked(id fleet.DeviceID) error {
	one, err := t.revocation(id)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return one.Refusal()
}

// lostRevocations describes the revocations that the audit records as not ended and that have no row. Somebody removed
// their rows. If old entries of the audit were deleted, the last sentence says when the audit begins.
func (t *tx) lostRevocations() (lost []string, err error) {
	entries, err := collect(t.ctx, t.session, scanAudit, selectAudit+`
		WHERE what IN ('device.revoke', 'revocation.delete') ORDER BY id`)
	if err != nil {
		return nil, err
	}
	revoked := map[fleet.DeviceID]bool{}
	for _, e := range entries {
		revoked[fleet.DeviceID(e.Subject)] = e.What == "device.revoke"
	}
	for _, id := range slices.Sorted(maps.Keys(revoked)) {
		if !revoked[id] {
			continue
		}
		switch _, err := t.revocation(id); {
		case absent(err):
			lost = append(lost, fmt.Sprintf("the revocation of device %s is lost: `muster device revoke %s` revokes it again",
				id.Short(), id))
		case err != nil:
			return nil, err
		}
	}
	begins, err := scanAudit(t.row(selectAudit + ` ORDER BY id LIMIT 1`))
	if err == nil && begins.ID > 1 {
		lost = append(lost, fmt.Sprintf("the audit begins on %s: revocations that are older and lost are not named here; "+
			"`muster revocation list` shows those that are left", begins.At.UTC().Format(time.DateOnly)))
	}
	if absent(err) {
		err = nil
	}
	return lost, err
}
