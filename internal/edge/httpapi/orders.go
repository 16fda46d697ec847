package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// OrderRunner has daemons do what people order.
type OrderRunner interface {
	// Begin keeps an order and answers; it is carried out by itself, one device after the other. A blank tag is of an
	// order for one device, or for chosen ones. Conflict: Muster does not write to one of them, or another order is
	// carried out on it.
	Begin(ctx context.Context, spec fleet.OrderSpec, tag fleet.Tag, devices []fleet.DeviceID) (fleet.Order, error)
}

// OrderRecords are the orders that are kept.
type OrderRecords interface {
	Orders(ctx context.Context) ([]fleet.Order, error) // newest first
	Order(ctx context.Context, id int64) (fleet.Order, error)
}

// orderSummaries say what each order does.
var orderSummaries = map[fleet.OrderType]string{
	fleet.OrderRestart: "Restart the daemon",
	fleet.OrderRescan:  "Have the daemon scan its folders, or one of them",
	fleet.OrderPause:   "Pause the daemon's connections to all other devices",
	fleet.OrderResume:  "Resume the daemon's connections to all other devices",
	fleet.OrderUpgrade: "Have the daemon install the newest release of Syncthing",
}

// OrderHandlers give orders to daemons.
type OrderHandlers struct {
	*base
	OrderRunner  OrderRunner
	OrderRecords OrderRecords
}

func (s OrderHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/orders", Prefix + "/orders/{orderID}"
	off := s.OrderRunner == nil
	routes := []route{
		{method: http.MethodGet, path: all, name: "listOrders", permission: auth.Read,
			summary: "Orders to daemons, newest first: what is carried out, and what came of the others",
			query:   []parameter{searchParam, limitParam, afterParam, orderDeviceParam, briefParam},
			reply:   reflect.TypeFor[[]api.Order](), off: off, handle: s.ofList(s.listOrders)},
		{method: http.MethodPost, path: all, name: "createOrder", permission: auth.Apply,
			summary: "Give an order to the devices that the body lists and to no other, one after the other, ending at the " +
				"first that fails; with goOn it goes on",
			body: reflect.TypeFor[api.NewOrder](), reply: reflect.TypeFor[api.Order](), creates: true, onlyCreates: true,
			volatile: true, conflicts: true, looksUp: true, off: off, handle: s.ofRegistry(s.createOrder)},
		{method: http.MethodGet, path: one, name: "getOrder", permission: auth.Read, summary: "How far an order is",
			reply: reflect.TypeFor[api.Order](), off: off, handle: s.getOrder},
	}
	for _, order := range fleet.OrderTypes { // orders that change files are given to a list of devices only
		name := string(order)
		rt := route{method: http.MethodPost, permission: auth.Apply, query: orderParams[order],
			reply: reflect.TypeFor[api.Order](), creates: true, onlyCreates: true, volatile: true, conflicts: true, off: off}
		if order.Restarts() {
			rt.query = append(slices.Clip(rt.query), allCopiesParam)
		}
		device, tag := rt, rt
		device.path, device.name = Prefix+"/devices/{deviceID}/orders/"+name, name+"Device"
		device.summary, device.handle = orderSummaries[order], s.orderDevice(order)
		tag.path, tag.name = Prefix+"/tags/{tag}/orders/"+name, name+"Tag"
		tag.summary = orderSummaries[order] +
			", of the devices with a tag one after the other, ending at the first that fails"
		tag.handle = s.orderTag(order)
		routes = append(routes, device, tag)
	}
	return routes
}

const allCopiesDoc = "Also where the order restarts every device that is proven to have data of a folder, and a " +
	"policy asks for copies of it"

var (
	folderParam = textParam(
		"folder",
		"Only the folder with this ID; to pause or resume: the folder, and not the connections",
	)
	allCopiesParam   = boolParam("allCopies", allCopiesDoc)
	majorParam       = boolParam("major", "Also to another major version")
	orderDeviceParam = textParam("device", "Only orders for the device with this ID, without their other devices")
	briefParam       = boolParam("brief", "Leave out the devices of orders to several")
)

var orderParams = map[fleet.OrderType][]parameter{
	fleet.OrderRescan: {folderParam}, fleet.OrderPause: {folderParam}, fleet.OrderResume: {folderParam},
	fleet.OrderUpgrade: {majorParam},
}

// orderSpec reads what is asked for besides the type of the order.
func (r *request) orderSpec(order fleet.OrderType) (out fleet.OrderSpec, err error) {
	out.Type = order
	switch order {
	case fleet.OrderRescan, fleet.OrderPause, fleet.OrderResume:
		out.Folder, err = folderParam.of(r)
	case fleet.OrderUpgrade:
		out.Major, err = majorParam.of(r)
	}
	if err == nil && order.Restarts() {
		out.AllCopies, err = allCopiesParam.of(r)
	}
	return out, err
}

func (s OrderHandlers) orderDevice(order fleet.OrderType) func(*request) (reply, error) {
	return s.ofDevice(func(r *request, device *fleet.Registered) (reply, error) {
		return s.beginOrder(r, order, "", []fleet.DeviceID{device.ID})
	})
}

// orderTag reaches the devices with a tag that the caller sees.
func (s OrderHandlers) orderTag(order fleet.OrderType) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		tag, err := r.tag()
		if err != nil {
			return reply{}, err
		}
		registry, err := s.Registry.Registry(r.Context())
		if err != nil {
			return reply{}, err
		}
		var ids []fleet.DeviceID
		for _, device := range view.SortedDevices(registry) {
			if slices.Contains(device.Tags, tag) {
				ids = append(ids, device.ID)
			}
		}
		if len(ids) == 0 {
			return reply{}, &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("no device carries the tag %q", tag),
				Hint: "GET " + Prefix + "/tags lists all. Tags are case-sensitive.",
				See:  fleet.Reference{Subject: fleet.SeeTags}}
		}
		return s.beginOrder(r, order, tag, ids)
	}
}

func (s OrderHandlers) beginOrder(r *request, of fleet.OrderType, tag fleet.Tag, ids []fleet.DeviceID) (reply, error) {
	spec, err := r.orderSpec(of)
	if err != nil {
		return reply{}, err
	}
	return s.begin(r, spec, tag, ids)
}

// createOrder gives an order to the devices of the body. It gives none where the caller does not see one of them.
func (s OrderHandlers) createOrder(r *request, registry *fleet.Registry) (reply, error) {
	body, err := decode[api.NewOrder](r, "type", "devices")
	if err != nil {
		return reply{}, err
	}
	spec, err := specOf(body)
	if err != nil {
		return reply{}, err
	}
	if spec.Type.ChangesFiles() && !r.who.May(auth.Consent) {
		return reply{}, r.who.Lacks(auth.Consent, "may not give an order that changes or deletes files")
	}
	if spec.Type == fleet.OrderOverride && len(body.Devices) > 1 {
		return reply{}, fleet.Invalidf("devices", "one device overrides the others: name one")
	}
	if len(body.Devices) == 0 {
		return reply{}, fleet.Invalidf("devices", "an order needs at least one device")
	}
	var ids []fleet.DeviceID
	listed := map[fleet.DeviceID]bool{}
	for i, text := range body.Devices {
		id, err := fleet.ParseDeviceID(text)
		if err != nil {
			return reply{}, at(fmt.Sprintf("devices.%d", i), err)
		}
		if registry.Devices[id] == nil {
			return reply{}, noDevice(id)
		}
		if !listed[id] {
			ids, listed[id] = append(ids, id), true
		}
	}
	return s.begin(r, spec, "", ids)
}

// specOf returns the order that a body describes, or why there is no such order.
func specOf(body api.NewOrder) (fleet.OrderSpec, error) {
	spec := fleet.OrderSpec{Type: fleet.OrderType(*body.Type), Folder: body.Folder, Major: body.Major, GoOn: body.GoOn,
		AllCopies: body.AllCopies, MaxItems: body.MaxItems}
	switch {
	case !slices.Contains(fleet.OrderTypes, spec.Type) && !spec.Type.ChangesFiles():
		return spec, fleet.Invalidf("type", "there is no order %q", *body.Type)
	case spec.Type.ChangesFiles() && spec.Folder == "":
		return spec, fleet.Invalidf("folder", "the order %s is for one folder: name it", spec.Type)
	case spec.Type.ChangesFiles() && spec.MaxItems < 1:
		return spec, fleet.Invalidf(
			"maxItems",
			"the order %s needs the number of items that may be changed at most",
			spec.Type,
		)
	case spec.MaxItems != 0 && !spec.Type.ChangesFiles():
		return spec, fleet.Invalidf("maxItems", "the order %s changes no items", spec.Type)
	case spec.Folder != "" && !spec.Type.MayNameFolder():
		return spec, fleet.Invalidf("folder", "the order %s is not for one folder", spec.Type)
	case spec.GoOn && spec.Type.ChangesFiles():
		return spec, fleet.Invalidf("goOn", "the order %s ends at the first device on which it fails", spec.Type)
	case spec.AllCopies && !spec.Type.Restarts():
		return spec, fleet.Invalidf("allCopies", "the order %s restarts nothing", spec.Type)
	case spec.Major && spec.Type != fleet.OrderUpgrade:
		return spec, fleet.Invalidf("major", "only an upgrade goes to another major version")
	}
	return spec, nil
}

// begin has an order carried out, and replies with its record.
func (s OrderHandlers) begin(r *request, spec fleet.OrderSpec, tag fleet.Tag, ids []fleet.DeviceID) (reply, error) {
	order, err := s.OrderRunner.Begin(r.Context(), spec, tag, ids)
	if err != nil {
		return reply{}, s.withNames(r, err)
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireOrder(order, registry), true, Prefix+"/orders/"+strconv.FormatInt(order.ID, 10))
}

// withNames is an error whose message names devices as the caller knows them.
func (s OrderHandlers) withNames(r *request, err error) error {
	registry, failed := s.Registry.Registry(r.Context())
	var e *fleet.Error
	if failed != nil || !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Message = named(registry, e.Message)
	return &told
}

// ordersFor are the orders that the caller may know of: with a scope, those for devices inside only.
func (s OrderHandlers) ordersFor(ctx context.Context, orders []fleet.Order) ([]fleet.Order, error) {
	inside, err := s.insideOf(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(orders, func(order fleet.Order) bool { return !order.Within(inside) }), nil
}

func (s OrderHandlers) listOrders(r *request, q listQuery, registry *fleet.Registry) (reply, error) {
	all, err := s.OrderRecords.Orders(r.Context())
	if err != nil {
		return reply{}, err
	}
	if all, err = s.ordersFor(r.Context(), all); err != nil {
		return reply{}, err
	}
	only, brief, err := ordersAsked(r)
	if err != nil {
		return reply{}, err
	}
	if only != "" {
		all = slices.DeleteFunc(all, func(o fleet.Order) bool { return !slices.Contains(o.Devices, only) })
	}
	as := newestFirst(func(order fleet.Order) int64 { return order.ID },
		func(order fleet.Order) api.Order { return listedOrder(wireOrder(order, registry), only, brief) })
	as.matches = func(order fleet.Order) bool {
		return q.holds(string(order.Type), string(order.Tag), order.By, string(order.Status))
	}
	return showList(r, q, all, as)
}

// ordersAsked reads which orders are asked for, and whether without their devices.
func ordersAsked(r *request) (only fleet.DeviceID, brief bool, err error) {
	text, err := orderDeviceParam.of(r)
	if err != nil {
		return "", false, err
	}
	if text != "" {
		if only, err = fleet.ParseDeviceID(text); err != nil {
			return "", false, at("device", err)
		}
	}
	brief, err = briefParam.of(r)
	return only, brief, err
}

// listedOrder is an order with the devices that were asked for.
func listedOrder(order api.Order, only fleet.DeviceID, brief bool) api.Order {
	if only != "" {
		order.Devices = slices.DeleteFunc(order.Devices, func(d api.OrderDevice) bool { return d.DeviceID != string(only) })
	} else if brief && order.Total > 1 {
		order.Devices = []api.OrderDevice{}
	}
	return order
}

func (s OrderHandlers) getOrder(r *request) (reply, error) {
	id, err := r.number("orderID")
	if err != nil {
		return reply{}, err
	}
	order, err := s.OrderRecords.Order(r.Context(), id)
	if err == nil {
		var seen []fleet.Order
		if seen, err = s.ordersFor(r.Context(), []fleet.Order{order}); err == nil && len(seen) == 0 {
			err = fleet.NotFoundf("there is no order %d", id)
		}
	}
	if err != nil {
		return reply{}, orNotFound(err,
			notThere(fleet.SeeOrders, "GET "+Prefix+"/orders lists all.", "there is no order %d, or not any more", id))
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(wireOrder(order, registry))
}

func wireOrder(order fleet.Order, registry *fleet.Registry) api.Order {
	out := api.Order{ID: order.ID, Type: string(order.Type), Tag: string(order.Tag), Folder: order.Folder,
		Status: string(order.Status), Reason: named(registry, order.Reason), By: order.By,
		Major: order.Major, GoOn: order.GoOn,
		Total: len(order.Devices), Done: order.Done, Skipped: len(order.Skipped),
		Devices: make([]api.OrderDevice, len(order.Devices)), BeganAt: api.Time{Time: order.BeganAt},
		EndedAt: moment(order.EndedAt)}
	reasons := map[fleet.DeviceID]string{}
	for _, failure := range order.Failed {
		reasons[failure.Device] = named(registry, failure.Reason)
	}
	for i, state := range order.States() {
		id := order.Devices[i]
		out.Devices[i] = api.OrderDevice{DeviceID: string(id), State: string(state), Label: registry.Label(id),
			Reason: reasons[id]}
		if state == fleet.OrderStateFailed {
			out.Failed++
		}
	}
	return out
}
