package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// maxOrders is how many orders are carried out at a time.
const maxOrders = 8

// OrderStore stores the orders. What a call stored is durable when it returns, and is recorded in the audit.
type OrderStore interface {
	// BeginOrder stores a new order and returns it with its ID.
	BeginOrder(ctx context.Context, order fleet.Order) (fleet.Order, error)
	// PutOrder records how far an order has come.
	PutOrder(ctx context.Context, order fleet.Order) error
	Orders(ctx context.Context) ([]fleet.Order, error)
	Record(ctx context.Context, what, subject, detail string) error
	Registry(ctx context.Context) (*fleet.Registry, error)
}

// orderTaker carries out orders on daemons. The Engine is one.
type orderTaker interface {
	// MayOrder returns conflict if Muster does not write to the device, and unavailable if its daemon cannot be reached.
	MayOrder(ctx context.Context, id fleet.DeviceID) error
	CarryOut(ctx context.Context, id fleet.DeviceID, spec fleet.OrderSpec) (result string, err error)
}

// orderCopies finds data of which an order would restart each device that is proven to have it; see
// prover.Prover.Interrupts.
type orderCopies interface {
	Interrupts(devices []fleet.DeviceID) (decline fleet.CopyDecline, isBad bool)
}

// OrderRunner carries out orders. An order to several devices is carried out on one after the other, and ends at the
// first on which it fails. One that goes on after failures ends with the last device, and may reach several at once
// (see fleet.OrderSpec.AtOnce).
type OrderRunner struct {
	store   OrderStore
	daemons orderTaker
	copies  orderCopies
	log     *slog.Logger

	given  chan givenOrder
	mu     sync.Mutex                  // guards the rest
	busy   map[fleet.DeviceID]struct{} // the devices that are part of an order
	orders int                         // how many orders are being carried out
	open   bool                        // Run accepts new orders.
}

// givenOrder is an order with the role and the part of the fleet (scope) of the person who gave it.
type givenOrder struct {
	fleet.Order
	role  fleet.Role
	scope fleet.Scope
}

// NewOrderRunner makes an OrderRunner; Run starts it.
func NewOrderRunner(store OrderStore, daemons orderTaker, copies orderCopies, log *slog.Logger) *OrderRunner {
	return &OrderRunner{store: store, daemons: daemons, copies: copies, log: log.With(logkey.Component, "orders"),
		given: make(chan givenOrder, maxOrders), busy: map[fleet.DeviceID]struct{}{}}
}

// Run carries out orders until ctx ends. First it marks orders as interrupted that an earlier process left unfinished.
// It does not repeat them, because a daemon that was told to restart may have restarted.
func (r *OrderRunner) Run(ctx context.Context) error {
	left, err := r.store.Orders(ctx)
	if err != nil {
		return err
	}
	// New orders are taken before the old ones are marked as interrupted: a person who reads that can give the order
	// again at once. left was read before, so it has none of the new orders.
	r.setOpen(true)
	for _, order := range left {
		if order.Status == fleet.OrderRunning {
			r.interrupt(ctx, order)
		}
	}
	var running sync.WaitGroup
	for {
		select {
		case order := <-r.given:
			running.Go(func() { r.carryOut(ctx, order) })
			continue
		case <-ctx.Done():
		}
		break
	}
	r.setOpen(false)
	running.Wait()
	for {
		select {
		case order := <-r.given:
			r.interrupt(context.WithoutCancel(ctx), order.Order)
		default:
			return ctx.Err()
		}
	}
}

func (r *OrderRunner) setOpen(open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = open
}

// interrupt records that an order ended because the server stopped.
func (r *OrderRunner) interrupt(ctx context.Context, order fleet.Order) {
	order.Status = fleet.OrderInterrupted
	order.Reason = fmt.Sprintf("the server stopped after %s of %s", fleet.NumberText(order.Done),
		fleet.Counted(len(order.Devices), "device", "devices"))
	switch next := order.Begun(); {
	case len(next) == 1:
		order.Reason += fmt.Sprintf("; whether device %s was told to %s is not known, and those after it were not",
			next[0], order.Type)
	case len(next) > 1:
		order.Reason += fmt.Sprintf("; whether the next %d devices were told to %s is not known, and those after them "+
			"were not", len(next), order.Type)
	}
	order.Reason += ". The server does not continue it: give the order again where it is needed."
	r.keep(ctx, order)
}

// keep stores how far an order has come. The audit names the person who gave the order.
func (r *OrderRunner) keep(ctx context.Context, order fleet.Order) (isKept bool) {
	err := r.store.PutOrder(fleet.WithActor(ctx, order.By), order)
	if err != nil {
		r.log.Warn("how far an order is was not kept", logkey.Err(err))
	}
	return err == nil
}

// keepInTime stores how far an order has come before it reaches devices that kept, which is what is stored, does not
// allow for. It returns what is stored then.
func (r *OrderRunner) keepInTime(ctx context.Context, order, kept fleet.Order) fleet.Order {
	next, allowed := order.Done+len(order.Next()), kept.Done+len(kept.Begun())
	if order.Done < len(order.Devices) && next > allowed && r.keep(ctx, order) {
		return order
	}
	return kept
}

// Begin stores an order to these devices and returns; Run carries it out. tag is the tag that the order is for, or
// "". Begin returns conflict if Muster does not write to one of the devices, if another order is running on one of
// them, or if the order would restart all proven copies of data (see fleet.OrderSpec.AllCopies). It returns
// unavailable if none of them can be reached. An order that goes on begins if one device can get it.
func (r *OrderRunner) Begin(ctx context.Context, spec fleet.OrderSpec, tag fleet.Tag, devices []fleet.DeviceID,
) (fleet.Order, error) {
	spec.GoOn = spec.GoOn && len(devices) > 1
	if err := r.mayBegin(ctx, spec, devices); err != nil {
		return fleet.Order{}, err
	}
	if err := r.mayInterrupt(spec, devices); err != nil {
		return fleet.Order{}, err
	}
	order := fleet.Order{OrderSpec: spec, Tag: tag, Devices: devices, Status: fleet.OrderRunning,
		By: fleet.ActorOf(ctx)}
	if err := r.reserve(devices); err != nil {
		return order, err
	}
	order, err := r.store.BeginOrder(ctx, order)
	if err != nil {
		r.release(devices)
		return order, err
	}
	// The channel has room for as many orders as may be carried out at a time.
	r.given <- givenOrder{order, fleet.RoleOf(ctx), fleet.ScopeIn(ctx)}
	return order, nil
}

// mayBegin checks each device. An order needs at least one device that can be reached; the others are skipped. One that
// goes on needs one device that can get it; it fails on the others at their turn.
func (r *OrderRunner) mayBegin(ctx context.Context, spec fleet.OrderSpec, devices []fleet.DeviceID) error {
	var refused error
	reachable := 0
	for _, id := range devices {
		err := r.daemons.MayOrder(ctx, id)
		if err != nil && len(devices) > 1 && fleet.CodeOf(err) != fleet.CodeUnavailable {
			err = errorAbout(id, err)
		}
		switch {
		case err == nil:
			reachable++
		case fleet.CodeOf(err) != fleet.CodeUnavailable && !spec.GoOn:
			return err
		default:
			refused = cmp.Or(refused, err)
		}
	}
	if reachable == 0 {
		return refused
	}
	return nil
}

// mayInterrupt returns conflict for an order that restarts each device which is proven to have data that a policy asks
// copies of: a release that does not start would take all copies.
func (r *OrderRunner) mayInterrupt(spec fleet.OrderSpec, devices []fleet.DeviceID) error {
	if !spec.Type.Restarts() || spec.AllCopies || len(devices) < 2 {
		return nil
	}
	found, isBad := r.copies.Interrupts(devices)
	if !isBad {
		return nil
	}
	message := fmt.Sprintf("a policy asks for copies of the folder %q, and no device outside this order is proven to "+
		"have what %s has of it", found.Folder, found.Owner)
	const allow = "allow it: by its box in the console, or by --all-copies."
	if found.Unknown != "" {
		message = fmt.Sprintf("the order restarts devices with the folder %q, and %s", found.Folder, found.Unknown)
		return conflict(message, "Give the order to one device at a time. Or "+allow)
	}
	return conflict(message, "Give the order to some of these devices first, and to the others when these are up to "+
		"date. Or "+allow)
}

// errorAbout returns an error with the device in its message.
func errorAbout(id fleet.DeviceID, err error) error {
	return &fleet.Error{Code: fleet.CodeOf(err), Message: fmt.Sprintf("device %s: %s", id, fleet.Reason(err)),
		Hint: hintOf(err), Err: err}
}

// reserve marks the devices as part of an order. A device can be part of only one order at a time.
func (r *OrderRunner) reserve(devices []fleet.DeviceID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "Muster is not running yet, or shutting down",
			Hint: "Try again in a moment."}
	}
	if r.orders >= maxOrders {
		return &fleet.Error{Code: fleet.CodeTooMany, Message: fmt.Sprintf("%d orders are carried out already", r.orders),
			Hint: "Wait until one of them has ended."}
	}
	for _, id := range devices {
		if _, busy := r.busy[id]; busy {
			return &fleet.Error{Code: fleet.CodeConflict,
				Message: fmt.Sprintf("another order is carried out on device %s", id), Hint: "Wait until that has ended."}
		}
	}
	for _, id := range devices {
		r.busy[id] = struct{}{}
	}
	r.orders++
	return nil
}

func (r *OrderRunner) release(devices []fleet.DeviceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range devices {
		delete(r.busy, id)
	}
	r.orders--
}

// carryOut carries out an order on its devices.
func (r *OrderRunner) carryOut(ctx context.Context, given givenOrder) {
	order, kept := given.Order, given.Order
	ctx = fleet.WithScope(fleet.WithRole(fleet.WithActor(ctx, order.By), given.role), given.scope)
	lastResult := ""
	for order.Done < len(order.Devices) {
		if order.GoOn && r.isStopped(ctx) {
			order = withoutRest(order)
			break
		}
		results := r.carryOutOnEach(ctx, given, order.Next())
		if ctx.Err() != nil {
			r.release(order.Devices)
			r.interrupt(context.WithoutCancel(ctx), order)
			return
		}
		for _, one := range results {
			switch {
			case one.err != nil && !order.GoOn:
				order.Status, order.Reason = fleet.OrderFailed, whyFailed(order, one.device, one.err)
				r.end(ctx, order)
				return
			case one.err != nil:
				failure := fleet.OrderFailure{Device: one.device, Reason: reasonOf(one.err)}
				order.Failed = append(slices.Clip(order.Failed), failure)
			case one.skipped:
				order.Skipped = append(slices.Clip(order.Skipped), one.device)
			}
			order.Done++
			lastResult = one.result
		}
		kept = r.keepInTime(ctx, order, kept)
	}
	order.Status, order.Reason = fleet.OrderDone, lastResult
	if len(order.Failed) > 0 {
		order.Status = fleet.OrderFailed
	}
	if !order.IsForOne() {
		order.Reason = outcomeOf(order)
	}
	r.end(ctx, order)
}

// isStopped reports whether Muster writes to no device at all any more. That ends also an order that goes on.
func (r *OrderRunner) isStopped(ctx context.Context) bool {
	registry, err := r.store.Registry(ctx)
	return err == nil && (registry.Mode == fleet.ModeObserve || registry.Mode == fleet.ModePaused)
}

// withoutRest returns the order as failed on all devices that are not finished: they are told nothing.
func withoutRest(order fleet.Order) fleet.Order {
	order.Failed = slices.Clip(order.Failed)
	for _, id := range order.Devices[order.Done:] {
		order.Failed = append(order.Failed, fleet.OrderFailure{Device: id,
			Reason: "Muster was stopped before its turn: the daemon was told nothing."})
	}
	order.Done = len(order.Devices)
	return order
}

// outcomeOf returns, for a person, on how many devices an order to several was carried out.
func outcomeOf(order fleet.Order) string {
	succeeded := order.Done - len(order.Skipped) - len(order.Failed)
	text := fmt.Sprintf("%s of %s; %s unreachable or gone, and left out", fleet.NumberText(succeeded),
		fleet.Counted(len(order.Devices), "device", "devices"), fleet.Counted(len(order.Skipped), "was", "were"))
	if len(order.Failed) > 0 {
		text += fmt.Sprintf("; it failed on %s", fleet.Counted(len(order.Failed), "device", "devices"))
	}
	return text
}

// orderResult is the result of an order on one device.
type orderResult struct {
	device  fleet.DeviceID
	result  string
	skipped bool
	err     error
}

// carryOutOnEach carries out an order on these devices at once, and returns the results in the order of the devices.
func (r *OrderRunner) carryOutOnEach(ctx context.Context, order givenOrder, ids []fleet.DeviceID) []orderResult {
	results := make([]orderResult, len(ids))
	var running sync.WaitGroup
	for i, id := range ids {
		running.Go(func() {
			result, skipped, err := r.carryOutOn(ctx, order, id)
			results[i] = orderResult{device: id, result: result, skipped: skipped, err: err}
		})
	}
	running.Wait()
	return results
}

// end stores that an order has ended. The devices are free before: a person who sees that it has ended gives the next
// order at once.
func (r *OrderRunner) end(ctx context.Context, order fleet.Order) {
	r.release(order.Devices)
	r.keep(ctx, order)
}

// carryOutOn carries out an order on one device. An order to several skips devices that cannot be reached, were
// deleted, or are not in the part of the fleet of the person who gave the order.
func (r *OrderRunner) carryOutOn(ctx context.Context, order givenOrder, id fleet.DeviceID,
) (result string, skipped bool, err error) {
	if order.IsForOne() {
		result, err = r.daemons.CarryOut(ctx, id, order.OrderSpec)
		return result, false, err
	}
	registry, err := r.store.Registry(ctx)
	if err != nil {
		return "", false, err
	}
	device := registry.Devices[id]
	if device == nil || !order.scope.Covers(device.Tags) {
		return "", true, nil
	}
	switch err := r.daemons.MayOrder(ctx, id); {
	case fleet.CodeOf(err) == fleet.CodeUnavailable:
		return "", true, nil
	case err != nil:
		return "", false, err
	}
	detail := fmt.Sprintf("order %d, %s", order.ID, order.Whom())
	if err := r.store.Record(ctx, "device."+string(order.Type), string(id), detail); err != nil {
		return "", false, err
	}
	result, err = r.daemons.CarryOut(ctx, id, order.OrderSpec)
	return result, false, err
}

// whyFailed returns, for a person, why an order ended at this device and what to do.
func whyFailed(order fleet.Order, id fleet.DeviceID, err error) string {
	reason := fleet.Reason(err) + "."
	if !order.IsForOne() {
		reason = fmt.Sprintf("ended at device %s after %d of %d: %s The devices after it were not touched.", id,
			order.Done, len(order.Devices), reason)
	}
	return withHint(reason, err)
}

const maxFailureReason = 500 // characters; an order may fail on thousands of devices

// reasonOf returns, for a person, why an order failed on a device and what to do.
func reasonOf(err error) string {
	text := []rune(withHint(fleet.Reason(err)+".", err))
	if len(text) > maxFailureReason {
		return string(text[:maxFailureReason]) + "…"
	}
	return string(text)
}

func withHint(reason string, err error) string {
	if hint := hintOf(err); hint != "" {
		return reason + " " + hint
	}
	return reason
}

func hintOf(err error) string {
	var e *fleet.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
