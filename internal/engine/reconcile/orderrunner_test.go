package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"muster/internal/fleet"
)

var (
	first  = fleet.DeviceID("AAAAAAA-BBBBBBB-CCCCCCC-DDDDDDD-EEEEEEE-FFFFFFF-GGGGGGG-HHHHHHH")
	second = fleet.DeviceID("BAAAAAA-BBBBBBB-CCCCCCC-DDDDDDD-EEEEEEE-FFFFFFF-GGGGGGG-HHHHHHH")
	third  = fleet.DeviceID("CAAAAAA-BBBBBBB-CCCCCCC-DDDDDDD-EEEEEEE-FFFFFFF-GGGGGGG-HHHHHHH")
	all    = []fleet.DeviceID{first, second, third}
)

// fakes are a store and daemons; log has what happened, in its order.
type fakes struct {
	t      *testing.T
	mu     sync.Mutex // guards the rest
	orders map[int64]fleet.Order
	log    []string

	mode       fleet.Mode                    // of the fleet
	registered []fleet.DeviceID              // besides all
	gone       []fleet.DeviceID              // registered no more
	mayOrder   map[fleet.DeviceID]error      // nil: it may
	allCopies  bool                          // several devices have all proven copies of a folder
	unknown    string                        // why copies cannot be known
	acts       func(id fleet.DeviceID) error // what becomes of an order; nil: all goes well
	ended      chan fleet.Order              // orders that are not running any more
}

func newFakes(t *testing.T) *fakes {
	return &fakes{t: t, orders: map[int64]fleet.Order{}, mayOrder: map[fleet.DeviceID]error{},
		ended: make(chan fleet.Order, 16)}
}

func (f *fakes) happened(format string, values ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, values...))
}

func (f *fakes) events() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

func (f *fakes) BeginOrder(_ context.Context, order fleet.Order) (fleet.Order, error) {
	f.mu.Lock()
	order.ID = int64(len(f.orders) + 1)
	f.orders[order.ID] = order
	f.mu.Unlock()
	f.happened("begin %d %s by %s", order.ID, order.Status, order.By)
	return order, nil
}

func (f *fakes) PutOrder(ctx context.Context, order fleet.Order) error {
	f.mu.Lock()
	f.orders[order.ID] = order
	f.mu.Unlock()
	f.happened("keep %s %d by %s", order.Status, order.Done, fleet.ActorOf(ctx))
	if order.Status != fleet.OrderRunning {
		f.ended <- order
	}
	return nil
}

func (f *fakes) Orders(context.Context) (orders []fleet.Order, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, order := range f.orders {
		orders = append(orders, order)
	}
	return orders, nil
}

func (f *fakes) Record(ctx context.Context, what, subject, detail string) error {
	f.happened("record %s %s by %s: %s", what, fleet.DeviceID(subject).Short(), fleet.ActorOf(ctx), detail)
	return nil
}

func (f *fakes) Registry(context.Context) (*fleet.Registry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	registry := &fleet.Registry{Mode: f.mode, Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for _, id := range slices.Concat(all, f.registered) {
		if !slices.Contains(f.gone, id) {
			registry.Devices[id] = &fleet.Registered{}
		}
	}
	return registry, nil
}

func (f *fakes) MayOrder(_ context.Context, id fleet.DeviceID) error { return f.mayOrder[id] }

func (f *fakes) CarryOut(ctx context.Context, id fleet.DeviceID, spec fleet.OrderSpec) (string, error) {
	f.happened("%s %s", spec.Type, id.Short())
	if f.acts != nil {
		if err := f.acts(id); err != nil {
			return "", err
		}
	}
	return "it answers again", ctx.Err()
}

func (f *fakes) Interrupts(devices []fleet.DeviceID) (fleet.CopyDecline, bool) {
	if f.unknown != "" {
		return fleet.CopyDecline{Folder: "docs", Unknown: f.unknown}, true
	}
	return fleet.CopyDecline{Folder: "docs", Owner: devices[0]}, f.allCopies
}

// start runs an OrderRunner until the test or stop ends it.
func (f *fakes) start() (r *OrderRunner, stop func()) {
	f.t.Helper()
	r = NewOrderRunner(f, f, f, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(f.t.Context())
	over := make(chan error, 1)
	go func() { over <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			f.t.Errorf("the runner ended with %v", err)
		}
	})
	f.t.Cleanup(stop)
	r.waitOpen(true)
	return r, stop
}

// waitOpen waits until the runner takes orders, or takes none any more.
func (r *OrderRunner) waitOpen(want bool) {
	for open := !want; open != want; runtime.Gosched() {
		r.mu.Lock()
		open = r.open
		r.mu.Unlock()
	}
}

var restart = fleet.OrderSpec{Type: fleet.OrderRestart}

func (f *fakes) begin(r *OrderRunner, tag fleet.Tag, devices ...fleet.DeviceID) fleet.Order {
	f.t.Helper()
	order, err := r.Begin(fleet.WithActor(f.t.Context(), "ann"), restart, tag, devices)
	if err != nil {
		f.t.Fatal(err)
	}
	return order
}

func TestAnOrderIsKeptBeforeADaemonIsToldAndNamesWhoGaveIt(t *testing.T) {
	f := newFakes(t)
	r, _ := f.start()
	order := f.begin(r, "office", all...)
	if order.ID != 1 || order.Status != fleet.OrderRunning || order.By != "ann" {
		t.Errorf("got %+v", order)
	}
	end := <-f.ended
	if end.Status != fleet.OrderDone || end.Done != 3 || !strings.HasPrefix(end.Reason, "3 of 3 devices") {
		t.Errorf("got %+v", end)
	}
	detail := `: order 1, for the tag "office"`
	want := []string{
		"begin 1 running by ann",
		"record device.restart AAAAAAA by ann" + detail, "restart AAAAAAA", "keep running 1 by ann",
		"record device.restart BAAAAAA by ann" + detail, "restart BAAAAAA", "keep running 2 by ann",
		"record device.restart CAAAAAA by ann" + detail, "restart CAAAAAA", "keep done 3 by ann",
	}
	if got := f.events(); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestAnOrderForChosenDevicesIsForEachOfThem(t *testing.T) {
	f := newFakes(t)
	f.mayOrder[first] = &fleet.Error{Code: fleet.CodeUnavailable, Message: "it is away"}
	f.acts = func(id fleet.DeviceID) error {
		if id == third {
			return &fleet.Error{Code: fleet.CodeConflict, Message: "it does not want to"}
		}
		return nil
	}
	r, _ := f.start()
	f.begin(r, "", all...)
	end := <-f.ended
	if end.Status != fleet.OrderFailed || end.Done != 2 || !slices.Equal(end.Skipped, all[:1]) ||
		!strings.Contains(end.Reason, string(third)) || !strings.Contains(end.Reason, "after 2 of 3") {
		t.Errorf("got %+v", end)
	}
	if want := "record device.restart BAAAAAA by ann: order 1, for 3 devices"; !slices.Contains(f.events(), want) {
		t.Errorf("got %q, want %s in it", f.events(), want)
	}
}

func TestADeviceThatDoesNotComeBackEndsTheOrderOfItsTag(t *testing.T) {
	f := newFakes(t)
	f.acts = func(id fleet.DeviceID) error {
		if id != second {
			return nil
		}
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "it does not answer again", Hint: "Look at it."}
	}
	r, _ := f.start()
	f.begin(r, "office", all...)
	end := <-f.ended
	if end.Status != fleet.OrderFailed || end.Done != 1 {
		t.Errorf("got %+v", end)
	}
	for _, part := range []string{string(second), "after 1 of 3", "it does not answer again", "were not touched",
		"Look at it."} {
		if !strings.Contains(end.Reason, part) {
			t.Errorf("%q does not say %q", end.Reason, part)
		}
	}
	if slices.Contains(f.events(), "restart CAAAAAA") {
		t.Error("the device after it was told")
	}
}

func TestAfterACrashBetweenDevicesAnOrderIsInterruptedAndNotRepeated(t *testing.T) {
	f := newFakes(t)
	f.orders[7] = fleet.Order{ID: 7, OrderSpec: restart, Tag: "office", Devices: all, Done: 1,
		Status: fleet.OrderRunning, By: "ann"}
	f.orders[6] = fleet.Order{ID: 6, OrderSpec: restart, Devices: all[:1], Done: 1, Status: fleet.OrderDone}
	f.start()
	end := <-f.ended
	if end.ID != 7 || end.Status != fleet.OrderInterrupted || end.Done != 1 || !strings.Contains(end.Reason,
		"whether device "+string(second)+" was told to restart is not known") {
		t.Errorf("got %+v", end)
	}
	if got := f.events(); !slices.Equal(got, []string{"keep interrupted 1 by ann"}) {
		t.Errorf("got %q", got)
	}
}

func TestAServerThatStopsInterruptsItsOrders(t *testing.T) {
	f := newFakes(t)
	told, goOn := make(chan struct{}), make(chan struct{})
	f.acts = func(id fleet.DeviceID) error {
		if id == second {
			close(told)
			<-goOn
		}
		return nil
	}
	r, stop := f.start()
	f.begin(r, "office", all...)
	<-told
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	r.waitOpen(false)
	close(goOn)
	<-stopped
	end := <-f.ended
	if end.Status != fleet.OrderInterrupted || end.Done != 1 || slices.Contains(f.events(), "restart CAAAAAA") {
		t.Errorf("got %+v after %q", end, f.events())
	}
	if _, err := r.Begin(t.Context(), restart, "", all[:1]); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("got %v after the end", err)
	}
}

func TestDevicesOfATagThatAreAwayOrGoneAreLeftOutAndNamed(t *testing.T) {
	f := newFakes(t)
	f.mayOrder[first] = &fleet.Error{Code: fleet.CodeUnavailable, Message: "it is away"}
	f.gone = []fleet.DeviceID{second}
	r, _ := f.start()
	f.begin(r, "office", all...)
	end := <-f.ended
	if end.Status != fleet.OrderDone || !slices.Equal(end.Skipped, all[:2]) || !strings.HasPrefix(end.Reason, "1 of 3") {
		t.Errorf("got %+v", end)
	}
	told := slices.DeleteFunc(f.events(), func(e string) bool { return !strings.HasPrefix(e, "restart") })
	if !slices.Equal(told, []string{"restart CAAAAAA"}) {
		t.Errorf("got %q", told)
	}
}

func TestAnOrderThatMayNotBeginLeavesNothing(t *testing.T) {
	f := newFakes(t)
	r, _ := f.start()
	f.mayOrder[second] = &fleet.Error{Code: fleet.CodeConflict, Message: "it is only observed", Hint: "Resume it."}
	_, err := r.Begin(t.Context(), restart, "office", all)
	if fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), string(second)) {
		t.Errorf("got %v", err)
	}
	for _, id := range all {
		f.mayOrder[id] = &fleet.Error{Code: fleet.CodeUnavailable, Message: "it is away"}
	}
	if _, err := r.Begin(t.Context(), restart, "office", all); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	if got := f.events(); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestADeviceIsPartOfOneOrderAtATime(t *testing.T) {
	f := newFakes(t)
	told, goOn := make(chan struct{}), make(chan struct{})
	f.acts = func(fleet.DeviceID) error {
		told <- struct{}{}
		<-goOn
		return nil
	}
	r, _ := f.start()
	f.begin(r, "", first)
	<-told
	if _, err := r.Begin(t.Context(), restart, "office", all); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v", err)
	}
	close(goOn)
	<-f.ended
	for { // the device is free a moment after the order was kept as done
		if _, err := r.Begin(t.Context(), restart, "", all[:1]); err == nil {
			break
		}
		runtime.Gosched()
	}
	<-told
	<-f.ended
}

func (f *fakes) beginGoingOn(r *OrderRunner, kind fleet.OrderType) {
	f.t.Helper()
	spec := fleet.OrderSpec{Type: kind, GoOn: true}
	if _, err := r.Begin(fleet.WithActor(f.t.Context(), "ann"), spec, "", all); err != nil {
		f.t.Fatal(err)
	}
}

func TestAnOrderThatGoesOnNamesWhereItFailedAndReachesTheRest(t *testing.T) {
	f := newFakes(t)
	f.mayOrder[first] = &fleet.Error{Code: fleet.CodeConflict, Message: "it is only observed", Hint: "Resume it."}
	f.mayOrder[third] = &fleet.Error{Code: fleet.CodeUnavailable, Message: "it is away"}
	r, _ := f.start()
	f.beginGoingOn(r, fleet.OrderRestart)
	end := <-f.ended
	want := []fleet.OrderFailure{{Device: first, Reason: "it is only observed. Resume it."}}
	if end.Status != fleet.OrderFailed || end.Done != 3 || !slices.Equal(end.Failed, want) ||
		!slices.Equal(end.Skipped, []fleet.DeviceID{third}) ||
		end.Reason != "1 of 3 devices; 1 was unreachable or gone, and left out; it failed on 1 device" {
		t.Errorf("got %+v", end)
	}
	states := []fleet.OrderState{fleet.OrderStateFailed, fleet.OrderStateDone, fleet.OrderStateSkipped}
	if !slices.Equal(end.States(), states) {
		t.Errorf("got the states %v", end.States())
	}
	if end.HasOrdered(first) || !end.HasOrdered(second) {
		t.Error("the order counts as carried out where it failed, or not where it succeeded")
	}
}

func TestAnOrderThatGoesOnBeginsOnlyWhereADeviceCanGetIt(t *testing.T) {
	f := newFakes(t)
	for _, id := range all {
		f.mayOrder[id] = &fleet.Error{Code: fleet.CodeConflict, Message: "it is only observed"}
	}
	r, _ := f.start()
	_, err := r.Begin(t.Context(), fleet.OrderSpec{Type: fleet.OrderRescan, GoOn: true}, "", all)
	if fleet.CodeOf(err) != fleet.CodeConflict || len(f.events()) > 0 {
		t.Errorf("got %v after %q", err, f.events())
	}
}

// A restart that does not come back must not take several devices at once.
func TestARescanThatGoesOnReachesSeveralDevicesAtOnceAndARestartDoesNot(t *testing.T) {
	for kind, atOnce := range map[fleet.OrderType]int{fleet.OrderRescan: 3, fleet.OrderRestart: 1} {
		t.Run(string(kind), func(t *testing.T) {
			f := newFakes(t)
			told, goOn := make(chan struct{}, len(all)), make(chan struct{})
			f.acts = func(fleet.DeviceID) error {
				told <- struct{}{}
				<-goOn
				return nil
			}
			r, _ := f.start()
			f.beginGoingOn(r, kind)
			for range atOnce {
				<-told
			}
			select {
			case <-told:
				t.Errorf("more than %d devices were told at once", atOnce)
			default:
			}
			close(goOn)
			if end := <-f.ended; end.Status != fleet.OrderDone || end.Done != 3 {
				t.Errorf("got %+v", end)
			}
		})
	}
}

// The list of failures, with their reasons, was written again for every device: gigabytes for thousands of devices.
func TestAnOrderThatFailsWidelyWritesItsFailuresSeldomAndHidesNoDevice(t *testing.T) {
	for kind, mostKept := range map[fleet.OrderType]int{fleet.OrderRestart: 200, fleet.OrderRescan: 120} {
		f := newFakes(t)
		var devices []fleet.DeviceID
		for i := range 1500 {
			devices = append(devices, fleet.DeviceIDOf([32]byte{1, byte(i >> 8), byte(i)}))
		}
		f.registered = devices
		f.acts = func(id fleet.DeviceID) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			stored := f.orders[1]
			if at := slices.Index(devices, id); at >= stored.Done+len(stored.Begun()) {
				t.Errorf("device %d is told, and a server that is killed now would say that it was not: %d are done", at,
					stored.Done)
			}
			return errors.New("it fails")
		}
		r, _ := f.start()
		if _, err := r.Begin(t.Context(), fleet.OrderSpec{Type: kind, GoOn: true}, "", devices); err != nil {
			t.Fatal(err)
		}
		if end := <-f.ended; end.Done != 1500 || len(end.Failed) != 1500 {
			t.Errorf("%s ended with %d of 1500 failures", kind, len(end.Failed))
		}
		kept := 0
		for _, event := range f.events() {
			if strings.HasPrefix(event, "keep running") {
				kept++
			}
		}
		if kept > mostKept {
			t.Errorf("%s was stored %d times", kind, kept)
		}
	}
}

func TestAStopOfTheFleetEndsAnOrderThatGoesOn(t *testing.T) {
	f := newFakes(t)
	f.acts = func(fleet.DeviceID) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.mode = fleet.ModeObserve
		return nil
	}
	r, _ := f.start()
	f.beginGoingOn(r, fleet.OrderRestart)
	end := <-f.ended
	if end.Status != fleet.OrderFailed || len(end.Failed) != 2 || !strings.Contains(end.Failed[1].Reason, "told nothing") {
		t.Errorf("got %+v", end)
	}
	if slices.Contains(f.events(), "restart BAAAAAA") {
		t.Error("a device was told after the stop")
	}
}

func TestAServerThatStopsSaysOfHowManyDevicesItIsNotKnownWhetherTheyWereTold(t *testing.T) {
	f := newFakes(t)
	f.orders[7] = fleet.Order{ID: 7, OrderSpec: fleet.OrderSpec{Type: fleet.OrderRescan, GoOn: true}, Devices: all,
		Status: fleet.OrderRunning, By: "ann"}
	f.start()
	end := <-f.ended
	if !strings.Contains(end.Reason, "whether the next 3 devices were told to rescan is not known") {
		t.Errorf("got %+v", end)
	}
	if states := end.States(); !slices.Equal(states, slices.Repeat([]fleet.OrderState{fleet.OrderStateUnknown}, 3)) {
		t.Errorf("got the states %v", states)
	}
}

// TestWhereCopiesCannotBeKnownAnOrderIsForOneDevice covers the hint: some of the devices would be refused, too.
func TestWhereCopiesCannotBeKnownAnOrderIsForOneDevice(t *testing.T) {
	f := newFakes(t)
	f.unknown = "more than 100 devices have it"
	r, _ := f.start()
	_, err := r.Begin(t.Context(), fleet.OrderSpec{Type: fleet.OrderUpgrade}, "", all)
	if !strings.Contains(fleet.Reason(err), f.unknown) || !strings.Contains(hintOf(err), "one device at a time") {
		t.Errorf("got %v, hint %q", err, hintOf(err))
	}
	if _, err := r.Begin(t.Context(), fleet.OrderSpec{Type: fleet.OrderUpgrade}, "", all[:1]); err != nil {
		t.Error(err)
	}
}

func TestAnOrderThatRestartsAllCopiesIsRefusedUnlessAllowed(t *testing.T) {
	f := newFakes(t)
	f.allCopies = true
	r, _ := f.start()
	for _, spec := range []fleet.OrderSpec{{Type: fleet.OrderUpgrade}, {Type: fleet.OrderRestart, GoOn: true}} {
		_, err := r.Begin(t.Context(), spec, "", all)
		if fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(fleet.Reason(err), `"docs"`) {
			t.Errorf("%s: got %v", spec.Type, err)
		}
	}
	if events := f.events(); len(events) > 0 {
		t.Errorf("it was refused, and there was %v", events)
	}
	for _, spec := range []fleet.OrderSpec{{Type: fleet.OrderRescan}, {Type: fleet.OrderUpgrade, AllCopies: true}} {
		if _, err := r.Begin(t.Context(), spec, "", all); err != nil {
			t.Errorf("%s: %v", spec.Type, err)
		}
		if order := <-f.ended; order.Status != fleet.OrderDone {
			t.Errorf("%s ended as %s: %s", spec.Type, order.Status, order.Reason)
		}
	}
	if _, err := r.Begin(t.Context(), fleet.OrderSpec{Type: fleet.OrderRestart}, "", all[:1]); err != nil {
		t.Errorf("for one device: %v", err)
	}
	<-f.ended
}
