package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Settings writes modes, and the settings of devices beyond the contract.
type Settings interface {
	// PutDeviceSettings replaces them. check is called with those that are there. A mode is in force even when the cause
	// of the error is fleet.ErrNotKept; so it is below.
	PutDeviceSettings(ctx context.Context, id fleet.DeviceID, settings fleet.DeviceSettings,
		check func(current *fleet.DeviceSettings) error) (fleet.DeviceSettings, error)
	// PutTagMode also takes a tag that no device carries yet.
	PutTagMode(ctx context.Context, tag fleet.Tag, mode fleet.Mode) error
	PutFleetMode(ctx context.Context, mode fleet.Mode) error
	PutTagQuiet(ctx context.Context, tag fleet.Tag, quiet time.Duration) error
}

// Limits writes what templates of authors may do, and who may use a tag.
type Limits interface {
	// PutFolderRoots replaces the folder roots of a tag, or those of the fleet where the tag is "". check is called
	// with those that are there.
	PutFolderRoots(
		ctx context.Context, tag fleet.Tag, roots []string, check func(current *[]string) error,
	) ([]string, error)
	// PutAuthorKeys does the same for keys that authors may set.
	PutAuthorKeys(
		ctx context.Context, tag fleet.Tag, keys []string, check func(current *[]string) error,
	) ([]string, error)
	// ProtectTag says whether only an admin puts a tag on a device or takes it off. It also takes a tag that nobody
	// carries yet.
	ProtectTag(ctx context.Context, tag fleet.Tag, protected bool) error
}

// SettingHandlers change modes, settings and limits.
type SettingHandlers struct {
	*base
	Settings Settings
	Limits   Limits
	Stops    Stops
}

func (s SettingHandlers) routes(b *base) []route {
	s.base = b
	return slices.Concat(s.settingRoutes(), s.limitRoutes())
}

func (s SettingHandlers) settingRoutes() []route {
	const device, all = Prefix + "/devices/{deviceID}/settings", Prefix + "/configurator"
	settings, put := reflect.TypeFor[api.DeviceSettings](), reflect.TypeFor[api.PutMode]()
	switched := reflect.TypeFor[api.ModeSwitched]()
	return []route{
		{method: http.MethodGet, path: device, name: "getDeviceSettings",
			summary: "Settings of a device beyond the contract", permission: auth.Read,
			reply: settings, handle: s.ofDevice(s.getDeviceSettings)},
		{method: http.MethodPut, path: device, name: "putDeviceSettings",
			summary: "Change settings of a device; what is left out stays", permission: auth.Stop,
			body: reflect.TypeFor[api.PutDeviceSettings](), reply: reflect.TypeFor[api.DeviceSettingsStored](),
			conditional: true, conflicts: true, handle: s.putDeviceSettings},
		{method: http.MethodGet, path: all, name: "getConfigurator", summary: "Whether Muster writes to devices at all",
			permission: auth.Read,
			reply:      switched, handle: s.ofRegistry(s.getConfigurator)},
		{method: http.MethodPut, path: all, name: "putConfigurator", summary: "Set whether Muster writes to devices at all",
			permission: auth.Stop,
			body:       put, reply: switched, handle: s.putConfigurator},
	}
}

func (s SettingHandlers) getDeviceSettings(r *request, device *fleet.Registered) (reply, error) {
	return show(wireSettings(device.Settings))
}

func (s SettingHandlers) putDeviceSettings(r *request) (reply, error) {
	if _, err := s.registered(r); err != nil {
		return reply{}, err
	}
	body, err := decode[api.PutDeviceSettings](r)
	if err != nil {
		return reply{}, err
	}
	for range 10 {
		stored, err := s.changeSettings(r, body)
		if errors.Is(err, errMoved) {
			continue // a watcher pinned a certificate in between
		}
		warning, err := notKept(err)
		if err != nil {
			return reply{}, err
		}
		settings, err := encode(wireSettings(stored))
		if err != nil {
			return reply{}, err
		}
		out, err := show(api.DeviceSettingsStored{DeviceSettings: wireSettings(stored), Warning: s.switched(body, warning)})
		out.etag = etagOf(settings)
		return out, err
	}
	return reply{}, &fleet.Error{Code: fleet.CodeConflict,
		Message: "the settings are being changed by others all the time"}
}

// notKept makes a warning of the error that a mode is in force and could not be kept: whoever stops Muster did stop
// it.
func notKept(err error) (warning string, failed error) {
	var known *fleet.Error
	if !errors.Is(err, fleet.ErrNotKept) || !errors.As(err, &known) {
		return "", err
	}
	return fleet.Reason(err) + ". " + known.Hint, nil
}

// warned adds to a warning why a mode is not in force.
func (s SettingHandlers) warned(mode fleet.Mode, warning string) string {
	return strings.TrimSpace(warning + " " + s.Stops.Overruled(mode))
}

// switched is warned for a body that may say nothing about the mode.
func (s SettingHandlers) switched(body api.PutDeviceSettings, warning string) string {
	if body.Mode == nil {
		return warning
	}
	return s.warned(fleet.Mode(*body.Mode), warning)
}

var errMoved = errors.New("the settings changed since they were read")

// changeSettings lays a body over the settings as they are; errMoved when another request was faster.
func (s SettingHandlers) changeSettings(r *request, body api.PutDeviceSettings) (fleet.DeviceSettings, error) {
	device, err := s.registered(r)
	if err != nil {
		return fleet.DeviceSettings{}, err
	}
	read := device.Settings
	settings, err := settingsFrom(read, body)
	if err != nil {
		return fleet.DeviceSettings{}, err
	}
	only := body == api.PutDeviceSettings{Mode: body.Mode} && body.Mode != nil
	if err := r.who.MayChangeSetting(only && settings.Mode.Stops(read.Mode)); err != nil {
		return fleet.DeviceSettings{}, err
	}
	return s.Settings.PutDeviceSettings(r.Context(), device.ID, settings, func(current *fleet.DeviceSettings) error {
		if *current != read {
			return errMoved
		}
		return r.meets(true, func() ([]byte, error) { return encode(wireSettings(*current)) })
	})
}

func settingsFrom(settings fleet.DeviceSettings, body api.PutDeviceSettings) (fleet.DeviceSettings, error) {
	if body.Mode != nil {
		mode, err := fleet.ParseMode(*body.Mode)
		if err != nil {
			return settings, err
		}
		settings.Mode = mode
	}
	if body.Pin != nil {
		pin := ""
		if *body.Pin != "" {
			var err error
			if pin, err = fleet.ParsePin(*body.Pin); err != nil {
				return settings, err
			}
		}
		settings = settings.WithPin(pin)
	}
	if body.Way != nil {
		way, err := fleet.ParseWay(*body.Way)
		if err != nil {
			return settings, err
		}
		settings.Way = way
	}
	if body.QuietAfter != nil {
		quiet, err := quietFrom(*body.QuietAfter)
		if err != nil {
			return settings, err
		}
		settings.QuietAfter = quiet
	}
	settings.AllowPlain, settings.Restart = or(body.AllowPlain, settings.AllowPlain), or(body.Restart, settings.Restart)
	return settings, nil
}

func wireSettings(settings fleet.DeviceSettings) api.DeviceSettings {
	return api.DeviceSettings{Mode: string(settings.Mode.OrOn()), AllowPlain: settings.AllowPlain, Pin: settings.Pin,
		Restart: settings.Restart, Way: settings.Way.String(), QuietAfter: int64(settings.QuietAfter / time.Second)}
}

// quietFrom reads how long a device may be away before that is trouble.
func quietFrom(seconds int64) (time.Duration, error) {
	if seconds < 0 || seconds > int64(fleet.MaxQuietAfter/time.Second) {
		return 0, fleet.ValidateQuietAfter(-1)
	}
	return time.Duration(seconds) * time.Second, nil
}

func (s SettingHandlers) getConfigurator(r *request, registry *fleet.Registry) (reply, error) {
	mode := registry.Mode.OrOn()
	return show(api.ModeSwitched{ModeSetting: api.ModeSetting{Mode: string(mode)}, Warning: s.warned(mode, "")})
}

func (s SettingHandlers) putConfigurator(r *request) (reply, error) {
	now := func(registry *fleet.Registry) fleet.Mode { return registry.Mode }
	return s.putMode(r, now, func(mode fleet.Mode) error { return s.Settings.PutFleetMode(r.Context(), mode) })
}

func (s SettingHandlers) putMode(
	r *request,
	now func(*fleet.Registry) fleet.Mode,
	put func(fleet.Mode) error,
) (reply, error) {
	body, err := decode[api.PutMode](r, "mode")
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	switched, err := s.switchMode(r, *body.Mode, now(registry), put)
	if err != nil {
		return reply{}, err
	}
	return show(switched)
}

// switchMode sets a mode if the caller may.
func (s SettingHandlers) switchMode(
	r *request, text string, now fleet.Mode, put func(fleet.Mode) error,
) (api.ModeSwitched, error) {
	mode, err := fleet.ParseMode(text)
	if err != nil {
		return api.ModeSwitched{}, err
	}
	if err := r.who.MayChangeSetting(mode.Stops(now)); err != nil {
		return api.ModeSwitched{}, err
	}
	warning, err := notKept(put(mode))
	if err != nil {
		return api.ModeSwitched{}, err
	}
	return api.ModeSwitched{ModeSetting: api.ModeSetting{Mode: string(mode)}, Warning: s.warned(mode, warning)}, nil
}
