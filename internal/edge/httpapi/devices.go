package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// DeviceHandlers register devices and put tags on them.
type DeviceHandlers struct {
	*base
}

func (s DeviceHandlers) routes(b *base) []route {
	s.base = b
	const all, one, tags, tag = Prefix + "/devices", Prefix + "/devices/{deviceID}", Prefix + "/devices/{deviceID}/tags",
		Prefix + "/devices/{deviceID}/tags/{tag}"
	device, names := reflect.TypeFor[api.Device](), reflect.TypeFor[[]string]()
	return []route{
		{method: http.MethodGet, path: all, name: "listDevices", summary: "All devices, by label then ID",
			permission: auth.Read,
			query:      []parameter{searchParam, tagParam, maskParam, limitParam, afterParam},
			reply:      reflect.TypeFor[[]api.Device](), handle: s.listDevices},
		{method: http.MethodGet, path: one, name: "getDevice", summary: "One device", permission: auth.Read,
			query: []parameter{maskParam}, reply: device, handle: s.ofDevice(s.getDevice)},
		{method: http.MethodPut, path: one, name: "putDevice", summary: "Create or replace a device",
			permission: auth.WriteDevices, query: []parameter{maskParam},
			body: reflect.TypeFor[api.PutDevice](), reply: device, creates: true, conditional: true, pins: true,
			warns: true, conflicts: true,
			handle: s.putDevice},
		{method: http.MethodDelete, path: one, name: "deleteDevice", summary: "Forget a device; its daemon stays as it is",
			permission:  auth.WriteDevices,
			conditional: true, handle: s.deleteDevice},
		{method: http.MethodGet, path: tags, name: "getDeviceTags", summary: "Tags of a device", permission: auth.Read,
			reply: names, handle: s.ofDevice(s.getDeviceTags)},
		{method: http.MethodPut, path: tag, name: "tagDevice", summary: "Attach a tag to a device; gives its tags",
			permission: auth.WriteTags,
			reply:      names, conditional: true, warns: true, conflicts: true, handle: s.tagDevice},
		{method: http.MethodDelete, path: tag, name: "untagDevice", summary: "Take a tag off a device; gives its tags",
			permission: auth.WriteTags,
			reply:      names, conditional: true, conflicts: true, handle: s.untagDevice},
	}
}

func (s DeviceHandlers) listDevices(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	return s.devicesWith(r, q, func(*fleet.Registered) bool { return true })
}

// devicesWith lists the devices for which passes returns true.
func (s *base) devicesWith(r *request, q listQuery, passes func(*fleet.Registered) bool) (reply, error) {
	if err := r.maskKeys(); err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	key := "masked"
	if r.seesKeys() {
		key = "revealed"
	}
	return s.answered(r, view.OfRegistry(registry), key, func() (reply, error) {
		shown := 0
		out, err := showList(r, q, view.SortedDevices(registry), listing[*fleet.Registered, api.Device]{
			matches: func(d *fleet.Registered) bool { return passes(d) && q.picks(d) },
			cursor:  view.DeviceCursor, beyond: view.BeyondDevice,
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

// maskParam is for callers that do not need the key, so that no key is sent and no reading is in the audit.
var maskParam = boolParam(
	"mask",
	"Give "+fleet.MaskedAPIKey+" in the place of the API key, also for callers that may see it",
)

func (s DeviceHandlers) getDevice(r *request, device *fleet.Registered) (reply, error) {
	if err := r.maskKeys(); err != nil {
		return reply{}, err
	}
	out, err := show(r.wireDevice(device.Device))
	if r.seesKeys() {
		out.reveals = string(device.ID)
	}
	return out, err
}

func (s DeviceHandlers) putDevice(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	if err := r.maskKeys(); err != nil {
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
	done, err := s.change(r, fleet.Edit{Put: []fleet.DevicePut{{Device: device, Pin: pin}}}, func(is fleet.Found) error {
		if old = is.Device; asked != nil {
			if err := asked(is); err != nil {
				return err
			}
		}
		if old == nil {
			return nil
		}
		return notBlank(body)
	})
	if err != nil {
		return reply{}, err
	}
	stored := done.Device
	// A caller who sent the key may see it without an entry in the audit.
	if device.APIKey.IsZero() && r.seesKeys() && !s.traceReading(r, string(id)) {
		r.keysMasked = true
	}
	out, err := showCreated(r.wireDevice(stored), done.Created, devicePath(id))
	out.uncached = r.seesKeys()
	if old != nil && old.Label != stored.Label {
		out.warning = s.warnOfRenaming(r.Context(), *old, stored)
	}
	return out, err
}

// warnOfRenaming names the templates that read the label, because with a new label they may move folders.
func (s DeviceHandlers) warnOfRenaming(ctx context.Context, old, renamed fleet.Device) string {
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
		"`muster apply %s` shows what they change", old.Label, renamed.Label, len(using),
		strings.Join(using[:min(len(using), most)], ", "), renamed.ID.Short())})
}

// notBlank refuses a PUT that contains nothing about the device, because it would remove address and label.
func notBlank(body api.PutDevice) error {
	if body.APIKey != nil || body.APIPort != nil || body.APIAddress != nil || body.Label != nil {
		return nil
	}
	return &fleet.Error{
		Code: fleet.CodeInvalid, Message: "label, address, port and API key are all missing",
		See:  notOfAPI,
		Hint: "A PUT replaces the whole device: send apiKey, apiPort, apiAddress and label as they shall be.",
	}
}

// deviceFrom makes a device of a body. A blank key means that the stored one stays.
func deviceFrom(id fleet.DeviceID, body api.PutDevice) (fleet.Device, error) {
	if body.DeviceID != nil {
		named, err := fleet.ParseDeviceID(*body.DeviceID)
		if err != nil {
			return fleet.Device{}, err
		}
		if named != id {
			return fleet.Device{}, &fleet.Error{
				Code: fleet.CodeInvalid, See: notOfAPI,
				Message: "the deviceID in the body is another one than in the path",
				Hint:    "Leave deviceID out of the body, or send the same ID.",
				Details: []fleet.Detail{{Field: "deviceID", Message: "must equal the device ID in the path"}},
			}
		}
	}
	port, err := portFrom(body.APIPort)
	if err != nil {
		return fleet.Device{}, err
	}
	device := fleet.Device{
		ID: id, Label: or(body.Label, ""), APIAddress: strings.TrimSpace(or(body.APIAddress, "")), APIPort: port,
	}
	// HTTP removes blanks around the value of the header in which the key is sent.
	key := strings.TrimSpace(or(body.APIKey, ""))
	if key == fleet.MaskedAPIKey {
		key = "" // Only the transaction knows whether a key is stored.
	}
	device.APIKey = fleet.NewSecret(key)
	checked := device
	if key == "" {
		checked.APIKey = fleet.NewSecret("kept")
	}
	return device, checked.Validate()
}

// portFrom reads the port of a daemon's API; without one it is Syncthing's own.
func portFrom(given *int64) (int, error) {
	port := or(given, int64(fleet.DefaultAPIPort))
	if port < 1 || port > 65535 {
		return 0, fleet.Invalidf("apiPort", "apiPort is a port number from 1 to 65535, not %d", port)
	}
	return int(port), nil
}

func or[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func (s DeviceHandlers) deleteDevice(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	_, err = s.change(r, fleet.Edit{Remove: []fleet.DeviceID{id}}, condition(r, r.shownDevice))
	return nothing(orNotFound(err, noDevice(id)))
}

func (s DeviceHandlers) getDeviceTags(r *request, device *fleet.Registered) (reply, error) {
	return show(wireTags(device.Tags))
}

func (s DeviceHandlers) tagDevice(r *request) (reply, error) {
	tagging, err := r.tagOfDevice()
	if err != nil {
		return reply{}, err
	}
	out, err := s.changeTag(r, fleet.Edit{Tag: []fleet.Tagging{tagging}}, noDevice(tagging.Device))
	out.warning = headerText(tagging.Tag.Doubts())
	return out, err
}

func (s DeviceHandlers) untagDevice(r *request) (reply, error) {
	tagging, err := r.tagOfDevice()
	if err != nil {
		return reply{}, err
	}
	return s.changeTag(r, fleet.Edit{Untag: []fleet.Tagging{tagging}}, noDevice(tagging.Device))
}

// tagOfDevice is the tag and the device that a path names.
func (r *request) tagOfDevice() (tagging fleet.Tagging, err error) {
	if tagging.Device, err = r.deviceID(); err != nil {
		return tagging, err
	}
	tagging.Tag, err = r.tag()
	return tagging, err
}

// changeTag makes an edit of one tag on one device or template, and gives the resulting tags.
func (s DeviceHandlers) changeTag(r *request, edit fleet.Edit, notThere error) (reply, error) {
	done, err := s.change(r, edit, condition(r, shownTags))
	if err != nil {
		return reply{}, orNotFound(err, notThere)
	}
	return show(wireTags(done.Tags))
}

// maskKeys masks the API keys of the reply, and in the ETag that a condition is compared with, if the caller asks.
func (r *request) maskKeys() error {
	masked, err := maskParam.of(r)
	r.keysMasked = r.keysMasked || masked
	return err
}

// seesKeys reports whether the reply shows API keys. Users who may replace keys may see them.
func (r *request) seesKeys() bool { return r.who.May(auth.WriteDevices) && !r.keysMasked }

func (r *request) shownDevice(is fleet.Found) any {
	if is.Device == nil {
		return nil
	}
	return r.wireDevice(*is.Device)
}

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
