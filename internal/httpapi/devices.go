package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Devices writes devices and their tags. Every check is called inside the write's transaction with what is there, nil
// when there is nothing, and its error ends the write; a nil check is none. Deleting and tagging what is not there is
// not_found, before any check.
type Devices interface {
	// PutPinnedDevice creates or replaces. A blank pin keeps the one that is there. A blank APIKey keeps the stored one
	// and is invalid on create. The store sets the times: CreatedAt survives a replace.
	PutPinnedDevice(ctx context.Context, device fleet.Device, pin string,
		check func(current *fleet.Device) error) (stored fleet.Device, created bool, err error)
	DeleteDevice(ctx context.Context, id fleet.DeviceID, check func(current *fleet.Device) error) error
	// TagDevice and UntagDevice give the resulting tags, sorted. Neither minds when there is nothing to do.
	TagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag, check func(current *[]fleet.Tag) error) ([]fleet.Tag,
		error)
	UntagDevice(ctx context.Context, id fleet.DeviceID, tag fleet.Tag,
		check func(current *[]fleet.Tag) error) ([]fleet.Tag, error)
}

func (s *server) deviceRoutes() []route {
	const all, one, tags, tag = Prefix + "/devices", Prefix + "/devices/{deviceID}", Prefix + "/devices/{deviceID}/tags",
		Prefix + "/devices/{deviceID}/tags/{tag}"
	device, names := reflect.TypeFor[api.Device](), reflect.TypeFor[[]string]()
	return []route{
		{method: http.MethodGet, path: all, name: "listDevices", summary: "All devices, by label then ID",
			permission: auth.Read,
			query:      []*huma.Param{searchParam, tagParam, limitParam, afterParam}, reply: reflect.TypeFor[[]api.Device](),
			handle: s.listDevices},
		{method: http.MethodGet, path: one, name: "getDevice", summary: "One device", permission: auth.Read,
			reply: device, handle: s.getDevice},
		{method: http.MethodPut, path: one, name: "putDevice", summary: "Create or replace a device",
			permission: auth.WriteDevices,
			body:       reflect.TypeFor[api.PutDevice](), reply: device, creates: true, conditional: true, pins: true,
			warns:  true,
			handle: s.putDevice},
		{method: http.MethodDelete, path: one, name: "deleteDevice", summary: "Forget a device; its daemon stays as it is",
			permission:  auth.WriteDevices,
			conditional: true, handle: s.deleteDevice},
		{method: http.MethodGet, path: tags, name: "getDeviceTags", summary: "Tags of a device", permission: auth.Read,
			reply: names, handle: s.getDeviceTags},
		{method: http.MethodPut, path: tag, name: "tagDevice", summary: "Attach a tag to a device; gives its tags",
			permission: auth.WriteTags,
			reply:      names, conditional: true, warns: true, handle: s.tagDevice},
		{method: http.MethodDelete, path: tag, name: "untagDevice", summary: "Take a tag off a device; gives its tags",
			permission: auth.WriteTags,
			reply:      names, conditional: true, handle: s.untagDevice},
	}
}

func (s *server) listDevices(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	return s.devicesWith(r, q, func(*fleet.Registered) bool { return true })
}

// devicesWith is the list of the devices that also pass a condition of the path.
func (s *server) devicesWith(r *request, q listQuery, passes func(*fleet.Registered) bool) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	key := "masked"
	if r.seesKeys() {
		key = "revealed"
	}
	return s.lists.cached(registry, r, key, func() (reply, error) {
		shown := 0
		out, err := showList(r, q, sortedDevices(registry), listing[*fleet.Registered, api.Device]{
			matches: func(d *fleet.Registered) bool { return passes(d) && q.picks(d) },
			cursor:  deviceCursor, beyond: beyondDevice,
			wire: func(d *fleet.Registered) api.Device {
				shown++
				return r.wireDevice(d.Device)
			},
		})
		if shown > 0 && r.seesKeys() {
			out.reveals = fmt.Sprintf("%d devices", shown)
		}
		return out, err
	})
}

func (q listQuery) picks(d *fleet.Registered) bool {
	return q.holds(d.Label, string(d.ID), d.APIAddress) && q.carries(d.Tags)
}

func sortedDevices(registry *fleet.Registry) []*fleet.Registered {
	return slices.SortedFunc(maps.Values(registry.Devices), func(a, b *fleet.Registered) int {
		return fleet.CompareDevices(a.Device, b.Device)
	})
}

// deviceCursor holds label and ID, by which the list is sorted: a page after a deleted device is found all the same.
func deviceCursor(d *fleet.Registered) string {
	return string(d.ID) + "." + base64.RawURLEncoding.EncodeToString([]byte(d.Label))
}

func beyondDevice(cursor string, d *fleet.Registered) (bool, error) {
	id, encoded, found := strings.Cut(cursor, ".")
	label, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !found {
		return false, errors.New("no cursor of a device")
	}
	return fleet.CompareDevices(d.Device, fleet.Device{ID: fleet.DeviceID(id), Label: string(label)}) > 0, nil
}

func (s *server) getDevice(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	out, err := show(r.wireDevice(device.Device))
	if r.seesKeys() {
		out.reveals = string(device.ID)
	}
	return out, err
}

func (s *server) putDevice(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.PutDevice](r)
	if err != nil {
		return reply{}, err
	}
	device, err := deviceFrom(id, body)
	if err != nil {
		return reply{}, err
	}
	pin, err := pinOf(r)
	if err != nil {
		return reply{}, err
	}
	var old *fleet.Device
	asked := condition(r, r.shownDevice)
	stored, created, err := s.Devices.PutPinnedDevice(r.Context(), device, pin, func(current *fleet.Device) error {
		if old = current; asked != nil {
			if err := asked(current); err != nil {
				return err
			}
		}
		if current == nil {
			return nil
		}
		return notBlank(body)
	})
	if err != nil {
		return reply{}, err
	}
	// A key that the caller sent is no news to them.
	if device.APIKey.IsZero() && r.seesKeys() && !s.traceReading(r, string(id)) {
		r.keysMasked = true
	}
	out, err := showCreated(r.wireDevice(stored), created, devicePath(id))
	out.uncached = r.seesKeys()
	if old != nil && old.Label != stored.Label {
		out.warning = s.warnOfRenaming(r.Context(), *old, stored)
	}
	return out, err
}

// warnOfRenaming names the templates that make something of the label: of a renamed device they may move folders.
func (s *server) warnOfRenaming(ctx context.Context, old, renamed fleet.Device) string {
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return ""
	}
	var using []string
	for _, t := range registry.TemplatesOf(renamed.ID) {
		if t.Reads.OrAll().Device.Has("label") {
			using = append(using, strings.TrimSpace(fmt.Sprintf("%d %s", t.ID, t.Label)))
		}
	}
	if len(using) == 0 {
		return ""
	}
	const most = 5
	return headerText([]string{fmt.Sprintf("the label was %s and is %s: %d of the device's templates use device.label "+
		"(%s); "+
		"see what they change in devices/%s/plan", old.Label, renamed.Label, len(using),
		strings.Join(using[:min(len(using), most)], ", "), renamed.ID)})
}

// notBlank refuses a replacement that says nothing about the device: it would take address and label away.
func notBlank(body api.PutDevice) error {
	if body.APIKey != nil || body.APIPort != nil || body.APIAddress != nil || body.Label != nil {
		return nil
	}
	return &fleet.Error{
		Code: fleet.CodeInvalid, Message: "the body has no field of a device",
		Hint: "A PUT replaces the whole device: send apiKey, apiPort, apiAddress and label as they shall be.",
	}
}

// deviceFrom makes a device of a body. Its key is blank when the stored one is to be kept.
func deviceFrom(id fleet.DeviceID, body api.PutDevice) (fleet.Device, error) {
	if body.DeviceID != nil {
		named, err := fleet.ParseDeviceID(*body.DeviceID)
		if err != nil {
			return fleet.Device{}, err
		}
		if named != id {
			return fleet.Device{}, &fleet.Error{
				Code: fleet.CodeInvalid, Message: "the deviceID in the body is another one than in the path",
				Hint:    "Leave deviceID out of the body, or send the same ID.",
				Details: []fleet.Detail{{Field: "deviceID", Message: "must equal the device ID in the path"}},
			}
		}
	}
	device := fleet.Device{
		ID: id, Label: or(body.Label, ""), APIAddress: strings.TrimSpace(or(body.APIAddress, "")),
		APIPort: fleet.DefaultAPIPort,
	}
	if body.APIPort != nil {
		if *body.APIPort < 1 || *body.APIPort > 65535 {
			return fleet.Device{}, fleet.Invalidf("apiPort", "apiPort is a port number from 1 to 65535, not %d", *body.APIPort)
		}
		device.APIPort = int(*body.APIPort)
	}
	key := strings.TrimSpace(or(body.APIKey, "")) // blanks around it would not survive the header that carries it
	if key == fleet.MaskedAPIKey {
		key = "" // whether one is stored only the transaction knows
	}
	device.APIKey = fleet.NewSecret(key)
	checked := device
	if key == "" {
		checked.APIKey = fleet.NewSecret("kept")
	}
	return device, checked.Validate()
}

func or[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func (s *server) deleteDevice(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	err = s.Devices.DeleteDevice(r.Context(), id, condition(r, r.shownDevice))
	return nothing(orNotFound(err, noDevice(id)))
}

func (s *server) getDeviceTags(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	return show(wireTags(device.Tags))
}

func (s *server) tagDevice(r *request) (reply, error) {
	out, err := r.changeDeviceTags(s.Devices.TagDevice)
	if err != nil {
		return out, err
	}
	tag, err := r.tag()
	out.warning = headerText(doubtfulTag(tag))
	return out, err
}

func (s *server) untagDevice(r *request) (reply, error) {
	return r.changeDeviceTags(s.Devices.UntagDevice)
}

type deviceTagger func(context.Context, fleet.DeviceID, fleet.Tag, func(*[]fleet.Tag) error) ([]fleet.Tag, error)

func (r *request) changeDeviceTags(change deviceTagger) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	tags, err := change(r.Context(), id, tag, condition(r, shownTags))
	if err != nil {
		return reply{}, orNotFound(err, noDevice(id))
	}
	return show(wireTags(tags))
}

// seesKeys tells whether the reply shows API keys: to who could write others in their place.
func (r *request) seesKeys() bool { return r.who.May(auth.WriteDevices) && !r.keysMasked }

func (r *request) shownDevice(d *fleet.Device) any { return r.wireDevice(*d) }

func (r *request) wireDevice(d fleet.Device) api.Device {
	key := fleet.MaskedAPIKey
	if r.seesKeys() {
		key = d.APIKey.Reveal()
	}
	return api.Device{
		DeviceID: string(d.ID), APIKey: key, APIPort: int64(d.APIPort), APIAddress: d.APIAddress, Label: d.Label,
		CreatedAt: api.Time{Time: d.CreatedAt}, UpdatedAt: api.Time{Time: d.UpdatedAt},
	}
}
