package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// After a crash nothing else says how many items a person agreed to lose.
func TestTheAuditSaysHowManyItemsWereAgreedTo(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for _, kind := range fleet.FileOrderTypes {
			must(s.BeginOrder(t.Context(), fleet.Order{Status: fleet.OrderRunning, Devices: []fleet.DeviceID{deviceN(1).ID},
				OrderSpec: fleet.OrderSpec{Type: kind, Folder: "docs", MaxItems: 4321}}))(t)
			found := must(s.Audit(t.Context(), fleet.AuditQuery{What: "device." + string(kind), Limit: 10}))(t)
			if len(found) != 1 || !strings.Contains(found[0].Detail, "at most 4321 items") {
				t.Errorf("the audit has %+v", found)
			}
		}
	})
}

// Nothing else says that a person allowed an order to take all copies.
func TestTheAuditSaysThatAllCopiesMayRestart(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for _, isAllowed := range []bool{false, true} {
			must(s.BeginOrder(t.Context(), fleet.Order{Status: fleet.OrderRunning,
				Devices:   []fleet.DeviceID{deviceN(1).ID, deviceN(2).ID},
				OrderSpec: fleet.OrderSpec{Type: fleet.OrderRestart, AllCopies: isAllowed}}))(t)
			newest := must(s.Audit(t.Context(), fleet.AuditQuery{What: "devices.restart", Limit: 1}))(t)
			if len(newest) != 1 || strings.Contains(newest[0].Detail, "all proven copies") != isAllowed {
				t.Errorf("with allCopies %t the audit has %+v", isAllowed, newest)
			}
		}
	})
}

func TestAnOrderIsKeptWithHowFarItIs(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := fleet.WithActor(t.Context(), "ann")
		order := must(s.BeginOrder(ctx, fleet.Order{Tag: "all", Status: fleet.OrderRunning,
			OrderSpec: fleet.OrderSpec{Type: fleet.OrderRescan, Folder: "docs ü"},
			Devices:   []fleet.DeviceID{deviceN(1).ID, deviceN(2).ID}}))(t)
		one := must(s.BeginOrder(ctx, fleet.Order{Status: fleet.OrderRunning, Devices: order.Devices[:1],
			OrderSpec: fleet.OrderSpec{Type: fleet.OrderUpgrade, Major: true}}))(t)
		chosen := must(s.BeginOrder(ctx, fleet.Order{Status: fleet.OrderDone, Devices: order.Devices,
			OrderSpec: fleet.OrderSpec{Type: fleet.OrderPause}}))(t)
		if err := s.PutOrder(ctx, chosen); err != nil {
			t.Fatal(err)
		}
		order.Done, order.Skipped = 1, order.Devices[:1]
		goesOn := must(s.BeginOrder(ctx, fleet.Order{Status: fleet.OrderRunning, Devices: order.Devices,
			OrderSpec: fleet.OrderSpec{Type: fleet.OrderRescan, GoOn: true}}))(t)
		goesOn.Failed = []fleet.OrderFailure{{Device: order.Devices[1], Reason: "why \x00"}}
		if err := s.PutOrder(ctx, goesOn); err != nil {
			t.Fatal(err)
		}
		got := must(s.Order(ctx, goesOn.ID))(t)
		if !got.GoOn || len(got.Failed) != 1 || got.Failed[0].Device != order.Devices[1] ||
			got.Failed[0].Reason != "why \uFFFD" {
			t.Errorf("got %+v", got)
		}
		if err := s.PutOrder(ctx, order); err != nil {
			t.Fatal(err)
		}
		one.Status, one.Reason = fleet.OrderFailed, "why \x00"
		if err := s.PutOrder(ctx, one); err != nil {
			t.Fatal(err)
		}
		all := must(s.Orders(ctx))(t)
		if len(all) != 4 || all[1].ID != chosen.ID || all[2].ID != one.ID || !all[2].Major || all[2].EndedAt.IsZero() ||
			all[2].By != "ann" || all[2].GoOn {
			t.Fatalf("got %+v", all)
		}
		got = must(s.Order(ctx, order.ID))(t)
		if got.Done != 1 || !slices.Equal(got.Skipped, order.Skipped) || !slices.Equal(got.Devices, order.Devices) ||
			got.Folder != "docs ü" || !got.EndedAt.IsZero() || got.Status != fleet.OrderRunning || got.Tag != "all" {
			t.Errorf("got %+v", got)
		}
		if _, err := s.Order(ctx, 99); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("got %v", err)
		}
		if got, complete, err := s.PausingOrders(ctx); len(got) != 1 || !complete || err != nil {
			t.Errorf("after one order to pause: got %+v, %v, %v", got, complete, err)
		}
		var what []string
		for _, e := range must(s.Audit(ctx, fleet.AuditQuery{Limit: 10}))(t) {
			what = append(what, e.What)
		}
		for _, want := range []string{"tag.rescan", "device.upgrade", "devices.pause", "order.ended"} {
			if !slices.Contains(what, want) {
				t.Errorf("the audit has %v, and not %s", what, want)
			}
		}
	})
}

// A device that an order had paused was said to be paused by a person, once 500 other orders had come.
func TestWhoPausedIsKnownAfterManyOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s, ctx := open(t, options), fleet.WithActor(t.Context(), "ann")
		idA, idB := deviceN(1).ID, deviceN(2).ID
		give := func(kind fleet.OrderType, id fleet.DeviceID) fleet.Order {
			order := must(s.BeginOrder(ctx, fleet.Order{Status: fleet.OrderRunning, OrderSpec: fleet.OrderSpec{Type: kind},
				Devices: []fleet.DeviceID{id}}))(t)
			order.Done, order.Status = 1, fleet.OrderDone
			if err := s.PutOrder(ctx, order); err != nil {
				t.Fatal(err)
			}
			return order
		}
		paused := give(fleet.OrderPause, idA)
		for range keptOrders {
			give(fleet.OrderRescan, idB)
		}
		resumed := give(fleet.OrderResume, idB)
		got, complete, err := s.PausingOrders(ctx)
		if err != nil || len(got) != 2 || got[0].ID != resumed.ID || got[1].ID != paused.ID || !complete {
			t.Errorf("got %+v, complete %v, %v", got, complete, err)
		}
		for range keptOrders {
			give(fleet.OrderResume, idB)
		}
		got, complete, err = s.PausingOrders(ctx)
		if err != nil || len(got) != keptOrders || got[len(got)-1].ID == paused.ID || complete {
			t.Errorf("got %d orders, complete %v, %v", len(got), complete, err)
		}
		if got := must(s.Orders(ctx))(t); len(got) != keptOrders {
			t.Errorf("%d orders are stored", len(got))
		}
	})
}

// An earlier version kept the newest 500 orders, whatever they did. Once the database was upgraded, a device that a
// lost order had paused was paused by a person for Muster. Later nobody was named any more for any device, for ever.
func TestADatabaseThatMayLackPausingOrdersSaysSo(t *testing.T) {
	onEmpty(t, func(t *testing.T, options Options) {
		for number, want := range map[int]bool{keptOrders: true, keptOrders + 1: false} {
			if options.Home = t.TempDir(); options.DSN != "" {
				options.DSN = postgresDSN(t)
			}
			d := must(dialectOf(options))(t)
			db := must(d.openWrites())(t)
			provider := must(newProvider(d, db, migrations, withoutRows))(t)
			must(provider.UpTo(t.Context(), 110))(t)
			must(db.ExecContext(t.Context(), `INSERT INTO orders
				(id, type, folder, major, tag, devices, done, skipped, status, reason, made_by, began_at) `+d.givenID()+`
				VALUES ($1, 'rescan', '', FALSE, '', '["A"]', 1, '[]', 'done', '', 'ann', 20000)`, number))(t)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			clock := &stoppedClock{at: time.UnixMilli(10_000)}
			options.Now = clock.now
			s := open(t, options)
			if _, complete, err := s.PausingOrders(t.Context()); complete != want || err != nil {
				t.Errorf("after %d orders the list is complete: %v, %v", number, complete, err)
			}
			put(t, s, deviceN(1))
			put(t, s, deviceN(2))
			clock.move(time.Hour)
			put(t, s, deviceN(3)) // It was registered after the orders that may be missing.
			for _, c := range []struct {
				done, complete bool
				to             int
				folder         string
			}{{true, want, 1, ""}, {false, want, 2, ""}, {true, want, 2, "music"}, {true, true, 2, ""}} {
				order := must(s.BeginOrder(t.Context(), fleet.Order{Status: fleet.OrderRunning,
					OrderSpec: fleet.OrderSpec{Type: fleet.OrderResume, Folder: c.folder},
					Devices:   []fleet.DeviceID{deviceN(c.to).ID}}))(t)
				if order.Status, order.Done = fleet.OrderDone, 1; !c.done {
					order.Skipped = order.Devices
				}
				if err := s.PutOrder(t.Context(), order); err != nil {
					t.Fatal(err)
				}
				if _, complete, err := s.PausingOrders(t.Context()); complete != c.complete || err != nil {
					t.Errorf("after %d orders and %+v the list is complete: %v, %v", number, c, complete, err)
				}
			}
		}
	})
}
