package client

import (
	"context"
	"net/http"
	"net/url"

	"muster/api"
	"muster/internal/fleet"
)

// OrderType is what a daemon is told to do once.
type OrderType string

const (
	OrderRestart  OrderType = OrderType(fleet.OrderRestart)
	OrderRescan   OrderType = OrderType(fleet.OrderRescan)
	OrderPause    OrderType = OrderType(fleet.OrderPause)
	OrderResume   OrderType = OrderType(fleet.OrderResume)
	OrderUpgrade  OrderType = OrderType(fleet.OrderUpgrade)
	OrderOverride OrderType = OrderType(fleet.OrderOverride)
	OrderRevert   OrderType = OrderType(fleet.OrderRevert)
)

// OrderSpec says what a daemon must do.
type OrderSpec struct {
	Type   OrderType
	Folder string // The ID of the only folder that is meant; without it all folders, or the connections.
	Major  bool   // An upgrade may install another major version.
	GoOn   bool   // A device on which the order fails does not end it; for OrderToDevices.

	// AllCopies allows a restart of every device that is proven to have data of a folder, though a policy asks for copies.
	AllCopies bool

	// MaxItems is the number of items that the person was shown. An order that would change more of them is refused.
	MaxItems int64
}

// OrderToDevice gives a daemon an order. It answers when the order is stored; Order shows its progress. 409: Muster
// does not write to the device, or carries another order out on it; 503: the device cannot be reached.
func (c *Client) OrderToDevice(ctx context.Context, id string, o OrderSpec) (api.Order, error) {
	return send[api.Order](ctx, c, http.MethodPost, path("devices", id, "orders", string(o.Type))+orderQuery(o), nil)
}

// OrderToTag gives the devices with a tag an order, one after the other. It ends at the first that fails.
func (c *Client) OrderToTag(ctx context.Context, tag string, o OrderSpec) (api.Order, error) {
	return send[api.Order](ctx, c, http.MethodPost, path("tags", tag, "orders", string(o.Type))+orderQuery(o), nil)
}

// OrderToDevices gives these devices an order, one after the other, and no other device. It ends at the first that
// fails, unless it goes on.
func (c *Client) OrderToDevices(ctx context.Context, ids []string, o OrderSpec) (api.Order, error) {
	kind := string(o.Type)
	return send[api.Order](ctx, c, http.MethodPost, path("orders"),
		api.NewOrder{Type: &kind, Devices: ids, Folder: o.Folder, Major: o.Major, GoOn: o.GoOn,
			AllCopies: o.AllCopies, MaxItems: o.MaxItems})
}

func orderQuery(o OrderSpec) string {
	values := url.Values{"folder": {o.Folder}}
	if o.Major {
		values.Set("major", "true")
	}
	if o.AllCopies {
		values.Set("allCopies", "true")
	}
	return query(values)
}

// Orders are the orders to daemons, newest first.
func (c *Client) Orders(ctx context.Context, l List) ([]api.Order, error) {
	return list[api.Order](ctx, c, path("orders"), l)
}

// Order is one order with its progress.
func (c *Client) Order(ctx context.Context, id int64) (api.Order, error) {
	return get[api.Order](ctx, c, path("orders", number(id)))
}
