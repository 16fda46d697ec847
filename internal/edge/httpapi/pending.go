package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Pending is what asks managed daemons to be let in.
type Pending interface {
	// Pending is all of it, in any order, as last heard of.
	Pending() []fleet.Pending
	// Accept adds the device, or the folder shared with whoever offers it, to the configuration of the daemon that was
	// asked. Names that are "" are those of whoever asks; a folder that the daemon does not have needs a path: invalid
	// without. It answers once the daemon accepted it.
	Accept(ctx context.Context, asks fleet.Pending, name, path string) error
	// Dismiss has the daemon forget it; the other device may ask again.
	Dismiss(ctx context.Context, asks fleet.Pending) error
}

// PendingHandlers let in what asks daemons to be let in.
type PendingHandlers struct {
	*base
	Pending Pending
}

func (s PendingHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/pending", Prefix + "/pending/{pendingID}"
	off := s.Pending == nil
	return []route{
		{method: http.MethodGet, path: all, name: "listPending",
			summary: "Devices and folders that ask managed daemons to be let in", permission: auth.Read,
			query: []parameter{searchParam, tagParam, limitParam, afterParam}, reply: reflect.TypeFor[[]api.Pending](),
			off: off, handle: s.ofList(s.listPending)},
		{method: http.MethodPost, path: one + "/accept", name: "acceptPending",
			summary:    "Let it in: add the device, or the folder shared with whoever offers it, to the daemon that was asked",
			permission: auth.WriteDevices, body: reflect.TypeFor[api.AcceptPending](), off: off, conflicts: true, pins: true,
			handle: s.acceptPending},
		{method: http.MethodDelete, path: one, name: "dismissPending",
			summary: "Have the daemon forget it; whoever asks may ask again", permission: auth.Apply,
			off: off, handle: s.dismissPending},
	}
}

func (s PendingHandlers) listPending(r *request, q listQuery, registry *fleet.Registry) (reply, error) {
	return showList(r, q, slices.SortedFunc(slices.Values(s.Pending.Pending()), fleet.ComparePending),
		listing[fleet.Pending, api.Pending]{
			matches: func(p fleet.Pending) bool {
				device := registry.Devices[p.Device]
				return device != nil && q.carries(device.Tags) && q.holds(device.Label, string(p.Device), string(p.From),
					registry.Label(p.From), p.Name, p.Folder, p.FolderLabel)
			},
			cursor: func(p fleet.Pending) string { return nameOfPending(p) },
			beyond: func(cursor string, p fleet.Pending) (bool, error) {
				device, rest, _ := strings.Cut(cursor, " ")
				from, folder, _ := strings.Cut(rest, " ")
				place := fleet.Pending{Device: fleet.DeviceID(device), From: fleet.DeviceID(from), Folder: folder}
				return fleet.ComparePending(p, place) > 0, nil
			},
			wire: func(p fleet.Pending) api.Pending { return wirePending(registry, p) },
		})
}

func wirePending(registry *fleet.Registry, asks fleet.Pending) api.Pending {
	out := api.Pending{
		ID: pendingID(asks), Kind: "device", DeviceID: string(asks.Device), From: string(asks.From), Name: asks.Name,
		Address: asks.Address,
		Folder:  asks.Folder, FolderLabel: asks.FolderLabel, Encrypted: asks.Encrypted, Since: api.Time{Time: asks.Since},
		Revoked: asks.Revoked,
	}
	if asks.Folder != "" {
		out.Kind = "folder"
	}
	out.Label, out.FromLabel = registry.Label(asks.Device), registry.Label(asks.From)
	out.Registered = registry.Devices[asks.From] != nil
	return out
}

// nameOfPending says who asks whom for what.
func nameOfPending(asks fleet.Pending) string {
	return string(asks.Device) + " " + string(asks.From) + " " + asks.Folder
}

// pendingID is its name in a form that fits into a path.
func pendingID(asks fleet.Pending) string {
	sum := sha256.Sum256([]byte(nameOfPending(asks)))
	return hex.EncodeToString(sum[:12])
}

// asked is what the path names.
func (s PendingHandlers) asked(r *request) (fleet.Pending, error) {
	id := r.segment("pendingID")
	inside, err := s.insideOf(r.Context())
	if err != nil {
		return fleet.Pending{}, err
	}
	for _, asks := range s.Pending.Pending() {
		if pendingID(asks) == id && inside(asks.Device) {
			return asks, nil
		}
	}
	return fleet.Pending{}, &fleet.Error{
		Code: fleet.CodeNotFound, Message: "nothing of that ID asks to be let in, or not any more",
		Hint: "GET " + Prefix + "/pending lists what does.", See: fleet.Reference{Subject: fleet.SeePending},
	}
}

func (s PendingHandlers) acceptPending(r *request) (reply, error) {
	asks, err := s.asked(r)
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.AcceptPending](r)
	if err != nil {
		return reply{}, err
	}
	name, path := or(body.Name, ""), strings.TrimSpace(or(body.Path, ""))
	what := "device " + string(asks.From)
	if asks.Folder != "" {
		name, what = or(body.Label, ""), "folder "+asks.Folder+" of "+string(asks.From)
	}
	if err := fleet.ValidateLabel(name); err != nil {
		return reply{}, err
	}
	register, err := s.toRegister(r, asks, body.Register)
	if err != nil {
		return reply{}, err
	}
	pin, err := pinToRegister(r, body.Register)
	if err != nil {
		return reply{}, err
	}
	if asks.Revoked != "" { // The device is not registered either.
		return reply{}, &fleet.Error{Code: fleet.CodeConflict, Message: what + " is not let in: " + asks.Revoked,
			Hint: "Dismiss it: the daemon forgets that it asked."}
	}
	if err := s.record(r, "pending.accept", string(asks.Device), what); err != nil {
		return reply{}, err
	}
	if err := s.Pending.Accept(r.Context(), asks, name, path); err != nil || register == nil {
		return nothing(err)
	}
	edit := fleet.Edit{Put: []fleet.DevicePut{{Device: *register, Pin: pin}}}
	if _, err := s.change(r, edit, mustBeNew(asks.From)); err != nil {
		return reply{}, &fleet.Error{Code: fleet.CodeOf(err),
			Message: "the device was let in, but is not registered here: " + fleet.Reason(err),
			Hint:    "Register it with PUT " + devicePath(asks.From) + ".", Err: err,
			See: fleet.Reference{Subject: fleet.SeeDevices}}
	}
	return nothing(nil)
}

// toRegister is the device that a body asks to have registered as well, checked before anything is written; nil when
// it asks for none.
func (s PendingHandlers) toRegister(r *request, asks fleet.Pending, body *api.RegisterPending) (*fleet.Device, error) {
	if body == nil {
		return nil, nil //nolint:nilnil // nothing to register is no error
	}
	if asks.Folder != "" {
		return nil, fleet.Invalidf("register", "a folder cannot be registered: leave register out")
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return nil, err
	}
	if registry.Devices[asks.From] != nil {
		return nil, alreadyRegistered(asks.From)
	}
	label := or(body.Label, asks.Name)
	device, err := deviceFrom(asks.From, api.PutDevice{Label: &label, APIKey: body.APIKey, APIAddress: body.APIAddress,
		APIPort: body.APIPort})
	if err == nil && device.APIKey.IsZero() {
		err = fleet.Invalidf("apiKey", "apiKey is needed: the daemon shows it under Actions > Settings > GUI")
	}
	return &device, inside("register", err)
}

// pinToRegister is the pin of the device that is registered as well, from the body or the header; "" without one.
func pinToRegister(r *request, body *api.RegisterPending) (string, error) {
	pin, err := pinOf(r)
	switch {
	case err != nil:
		return "", err
	case body == nil && pin != "":
		return "", fleet.Invalidf(api.PinHeader,
			"a pin is that of a device that is registered: add register, or leave the pin out")
	case body == nil || body.Pin == nil:
		return pin, nil
	}
	given, err := fleet.ParsePin(*body.Pin)
	if err == nil && pin != "" && pin != given {
		err = requestf("pin", "the header %s has another pin: give one of the two", api.PinHeader)
	}
	return given, inside("register", err)
}

func alreadyRegistered(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("device %s is registered already", id.Short()),
		Hint: "Leave register out."}
}

func mustBeNew(id fleet.DeviceID) func(fleet.Found) error {
	return func(is fleet.Found) error {
		if is.Device != nil {
			return alreadyRegistered(id)
		}
		return nil
	}
}

func (s PendingHandlers) dismissPending(r *request) (reply, error) {
	asks, err := s.asked(r)
	if err != nil {
		return reply{}, err
	}
	if err := s.record(r, "pending.dismiss", string(asks.Device),
		strings.TrimSpace(string(asks.From)+" "+asks.Folder)); err != nil {
		return reply{}, err
	}
	return nothing(s.Pending.Dismiss(r.Context(), asks))
}
