package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// keptOrders is the number of newest orders that are kept. As many of the newest orders that pause or resume are kept
// too. Older orders are kept while they run.
const keptOrders = 500

const selectOrders = `
	SELECT id, type, folder, major, goes_on, tag, devices, done, skipped, failed, status, reason, made_by, began_at,
		ended_at
	FROM orders`

const selectPausingOrders = selectOrders + ` WHERE type IN ($1, $2) ORDER BY id DESC`

// BeginOrder stores a new order, and returns it with its ID, its author and its time. It also deletes orders that are
// too many (see keptOrders).
func (s *Store) BeginOrder(ctx context.Context, order fleet.Order) (fleet.Order, error) {
	return write(ctx, s, "keep an order", func(t *tx) (fleet.Order, error) {
		if !storable(order.Folder, maxFolderBytes) {
			return order, fleet.Invalidf("folder", "a folder's ID is text of at most %d bytes without NUL characters",
				maxFolderBytes)
		}
		devices, err := json.Marshal(order.Devices)
		if err != nil {
			return order, err
		}
		order.By, order.BeganAt = t.who, t.now
		if err := t.row(`
			INSERT INTO orders (type, folder, major, tag, devices, done, skipped, status, reason, made_by, began_at, goes_on)
			VALUES ($1, $2, $3, $4, $5, 0, '[]', $6, '', $7, $8, $9) RETURNING id`,
			string(order.Type), order.Folder, order.Major, string(order.Tag), string(devices), string(order.Status),
			plainText(order.By), order.BeganAt.UnixMilli(), order.GoOn).Scan(&order.ID); err != nil {
			return order, err
		}
		t.recordOrder(order)
		return order, t.exec(`DELETE FROM orders WHERE id <= $1 AND status <> $2 AND (type NOT IN ($3, $4) OR id <= (
				SELECT id FROM orders WHERE type IN ($3, $4) ORDER BY id DESC LIMIT 1 OFFSET $5))`, order.ID-keptOrders,
			string(fleet.OrderRunning), string(fleet.OrderPause), string(fleet.OrderResume), keptOrders)
	})
}

func (t *tx) recordOrder(order fleet.Order) {
	detail := fmt.Sprintf("order %d", order.ID)
	if order.Folder != "" {
		detail += fmt.Sprintf(", folder %q", order.Folder)
	}
	if order.Major {
		detail += ", also to another major version"
	}
	if order.GoOn {
		detail += ", also after failures"
	}
	if order.AllCopies {
		detail += ", also where it restarts all proven copies of data"
	}
	if order.Type.ChangesFiles() { // After a crash only this entry says how much was agreed to.
		detail += fmt.Sprintf(", at most %d items on each device", order.MaxItems)
	}
	switch {
	case order.IsForOne():
		t.record("device."+string(order.Type), string(order.Devices[0]), detail)
	case order.Tag == "":
		t.record("devices."+string(order.Type), strconv.FormatInt(order.ID, 10),
			fmt.Sprintf("%s, %d devices", detail, len(order.Devices)))
	default:
		t.record("tag."+string(order.Type), string(order.Tag), fmt.Sprintf("%s, %d devices", detail, len(order.Devices)))
	}
}

// PutOrder stores the progress of an order. If the order has ended, PutOrder also sets its end time and adds an entry
// to the audit.
func (s *Store) PutOrder(ctx context.Context, order fleet.Order) error {
	_, err := write(ctx, s, "keep how far an order is", func(t *tx) (none struct{}, err error) {
		skipped, err := json.Marshal(append([]fleet.DeviceID{}, order.Skipped...))
		if err != nil {
			return none, err
		}
		failures, err := json.Marshal(storableFailures(order.Failed))
		if err != nil {
			return none, err
		}
		ended := order.Status != fleet.OrderRunning
		if ended {
			order.EndedAt = t.now
			subject := strconv.FormatInt(order.ID, 10)
			if order.IsForOne() {
				subject = string(order.Devices[0])
			}
			t.record("order.ended", subject, fmt.Sprintf("order %d %s: %s", order.ID, order.Status, order.Reason))
		}
		err = t.exec(`UPDATE orders SET done = $1, skipped = $2, failed = $3, status = $4, reason = $5, ended_at = $6
			WHERE id = $7`, order.Done, string(skipped), string(failures), string(order.Status), plainText(order.Reason),
			millis(order.EndedAt), order.ID)
		if err != nil || !ended || order.Type != fleet.OrderPause && order.Type != fleet.OrderResume {
			return none, err
		}
		return none, t.forgetLostOrders()
	})
	return err
}

// storableFailures returns the failures with texts that both databases take.
func storableFailures(failures []fleet.OrderFailure) []fleet.OrderFailure {
	out := make([]fleet.OrderFailure, len(failures))
	for i, f := range failures {
		out[i] = fleet.OrderFailure{Device: f.Device, Reason: plainText(f.Reason)}
	}
	return out
}

// lostOrders is the setting with which the migrations 0111 and 0112 mark a database that may lack orders to pause or
// resume. Its value is when the last order was given that may be missing.
const lostOrders = "pausing_orders_lost"

// forgetLostOrders ends the uncertainty about missing orders once none of them tells anything any more: each device
// that was registered then has been told to pause or resume its connections by an order that is stored, or is not
// registered any more. An order about one folder says nothing of connections.
func (t *tx) forgetLostOrders() error {
	ids, err := collect(t.ctx, t.session, func(row scanner) (id fleet.DeviceID, err error) {
		return id, row.Scan((*string)(&id))
	}, `SELECT d.id FROM meta m JOIN devices d ON d.created_at <= CAST(m.value AS BIGINT) WHERE m.name = $1`, lostOrders)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		orders, err := collect(t.ctx, t.session, scanOrder, selectPausingOrders, string(fleet.OrderPause),
			string(fleet.OrderResume))
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !slices.ContainsFunc(orders, func(o fleet.Order) bool { return o.Folder == "" && o.HasOrdered(id) }) {
				return nil
			}
		}
	}
	return t.exec(`DELETE FROM meta WHERE name = $1`, lostOrders)
}

// Orders returns all stored orders, newest first.
func (s *Store) Orders(ctx context.Context) ([]fleet.Order, error) {
	orders, err := collect(ctx, pool{s.reads}, scanOrder, selectOrders+` ORDER BY id DESC`)
	return orders, failure("read orders", err)
}

// PausingOrders returns the stored orders to pause or resume, newest first. complete is false if such an order may have
// been deleted, so that a device without an order here may have had one (see lostOrders).
func (s *Store) PausingOrders(ctx context.Context) (orders []fleet.Order, complete bool, err error) {
	orders, err = collect(ctx, pool{s.reads}, scanOrder, selectPausingOrders, string(fleet.OrderPause),
		string(fleet.OrderResume))
	if err != nil {
		return nil, false, failure("read orders", err)
	}
	var lost int
	err = s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM meta WHERE name = $1`, lostOrders).Scan(&lost)
	return orders, lost == 0 && len(orders) < keptOrders, failure("read orders", err)
}

// Order returns the order with this ID, or a not-found error.
func (s *Store) Order(ctx context.Context, id int64) (fleet.Order, error) {
	orders, err := collect(ctx, pool{s.reads}, scanOrder, selectOrders+` WHERE id = $1`, id)
	if err == nil && len(orders) == 0 {
		return fleet.Order{}, fleet.NotFoundf("there is no order %d, or not any more", id)
	}
	if err != nil {
		return fleet.Order{}, failure("read an order", err)
	}
	return orders[0], nil
}

func scanOrder(row scanner) (order fleet.Order, err error) {
	var devices, skipped, failures string
	var began, ended sql.NullInt64
	if err := row.Scan(
		&order.ID,
		(*string)(&order.Type),
		&order.Folder,
		&order.Major,
		&order.GoOn,
		(*string)(&order.Tag),
		&devices,
		&order.Done,
		&skipped,
		&failures,
		(*string)(&order.Status),
		&order.Reason,
		&order.By,
		&began,
		&ended,
	); err != nil {
		return order, err
	}
	order.BeganAt, order.EndedAt = fromMillis(began), fromMillis(ended)
	if err := json.Unmarshal([]byte(devices), &order.Devices); err != nil {
		return order, fmt.Errorf("read the devices of an order: %w", err)
	}
	if err := json.Unmarshal([]byte(failures), &order.Failed); err != nil {
		return order, fmt.Errorf("read the devices of an order: %w", err)
	}
	if err := json.Unmarshal([]byte(skipped), &order.Skipped); err != nil {
		return order, fmt.Errorf("read the devices of an order: %w", err)
	}
	return order, nil
}
