package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// ordering plays the runner of orders and their records.
type ordering struct {
	given []fleet.OrderSpec
	kept  []fleet.Order
}

func (o *ordering) Begin(_ context.Context, spec fleet.OrderSpec, tag fleet.Tag, devices []fleet.DeviceID,
) (fleet.Order, error) {
	o.given = append(o.given, spec)
	return fleet.Order{ID: 9, OrderSpec: spec, Tag: tag, Devices: devices, Status: fleet.OrderRunning}, nil
}

func (o *ordering) Orders(context.Context) ([]fleet.Order, error) { return o.kept, nil }

func (o *ordering) Order(context.Context, int64) (fleet.Order, error) { return o.kept[0], nil }

func ordered(t *testing.T) (*world, *ordering) {
	t.Helper()
	w, o := newWorld(t), &ordering{}
	w.device(idA, "one")
	w.device(idB, "two")
	w.with(func(s *setup) { s.Orders = OrderHandlers{OrderRunner: o, OrderRecords: o} })
	return w, o
}

func TestAnOrderThatGoesOnIsAskedForAndNotOfFiles(t *testing.T) {
	w, o := ordered(t)
	post := func(body string) call {
		return call{method: http.MethodPost, path: Prefix + "/orders", role: fleet.RoleAdmin, body: body}
	}
	both := `"devices":["` + string(idA) + `","` + string(idB) + `"]`
	w.want(http.StatusCreated, post(`{"type":"rescan","goOn":true,`+both+`}`))
	w.want(http.StatusCreated, post(`{"type":"rescan",`+both+`}`))
	if len(o.given) != 2 || !o.given[0].GoOn || o.given[1].GoOn {
		t.Errorf("given were %+v", o.given)
	}
	w.problem(http.StatusUnprocessableEntity, post(`{"type":"revert","folder":"f","maxItems":1,"goOn":true,`+both+`}`))
}

func TestARestartOfAllCopiesIsAllowedInTheOrder(t *testing.T) {
	w, o := ordered(t)
	both := `"devices":["` + string(idA) + `","` + string(idB) + `"]`
	post := func(path, body string) call {
		return call{method: http.MethodPost, path: Prefix + path, role: fleet.RoleAdmin, body: body}
	}
	w.want(http.StatusCreated, post("/orders", `{"type":"restart","allCopies":true,`+both+`}`))
	w.want(http.StatusCreated, post("/orders", `{"type":"upgrade",`+both+`}`))
	if len(o.given) != 2 || !o.given[0].AllCopies || o.given[1].AllCopies {
		t.Errorf("given were %+v", o.given)
	}
	w.problem(http.StatusUnprocessableEntity, post("/orders", `{"type":"rescan","allCopies":true,`+both+`}`))
	one := "/devices/" + string(idA) + "/orders/"
	w.want(http.StatusCreated, post(one+"restart?allCopies=true", ""))
	w.want(http.StatusCreated, post(one+"upgrade?major=true&allCopies=true", ""))
	if len(o.given) != 4 || !o.given[2].AllCopies || !o.given[3].AllCopies || !o.given[3].Major {
		t.Errorf("given to one device were %+v", o.given)
	}
	w.problem(http.StatusUnprocessableEntity, post(one+"rescan?allCopies=true", ""))
}

func TestAListOfOrdersHasCountsInThePlaceOfDevices(t *testing.T) {
	w, o := ordered(t)
	o.kept = []fleet.Order{
		{ID: 2, OrderSpec: fleet.OrderSpec{Type: fleet.OrderRescan, GoOn: true}, Status: fleet.OrderFailed, Done: 2,
			Devices: []fleet.DeviceID{idA, idB}, Failed: []fleet.OrderFailure{{Device: idB, Reason: "it is away"}}},
		{ID: 1, OrderSpec: fleet.OrderSpec{Type: fleet.OrderRestart}, Status: fleet.OrderDone, Done: 1,
			Devices: []fleet.DeviceID{idA}},
	}
	list := func(query string) (orders []api.Order) {
		t.Helper()
		o.kept = slices.Clone(o.kept)
		if err := json.Unmarshal([]byte(w.get(Prefix+"/orders"+query)), &orders); err != nil {
			t.Fatal(err)
		}
		return orders
	}
	brief := list("?brief=true")
	if len(brief) != 2 || len(brief[0].Devices) != 0 || len(brief[1].Devices) != 1 || brief[0].Total != 2 ||
		brief[0].Failed != 1 || brief[0].Done != 2 {
		t.Errorf("got %+v", brief)
	}
	ofB := list("?device=" + string(idB))
	if len(ofB) != 1 || len(ofB[0].Devices) != 1 || ofB[0].Devices[0].State != "failed" ||
		ofB[0].Devices[0].Reason != "it is away" {
		t.Errorf("got %+v", ofB)
	}
	if whole := list(""); len(whole) != 2 || len(whole[0].Devices) != 2 {
		t.Errorf("got %+v", whole)
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/orders?device=x"})
}
