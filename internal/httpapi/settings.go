package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Settings writes the settings beyond the contract.
type Settings interface {
	// PutDeviceSettings stores what change makes of the device's settings, inside one transaction.
	PutDeviceSettings(ctx context.Context, id fleet.DeviceID, change func(*fleet.DeviceSettings) error) (fleet.DeviceSettings, error)
	// PutTagMode also takes a tag that nobody carries yet.
	PutTagMode(ctx context.Context, tag fleet.Tag, mode fleet.Mode) error
	// PutMode sets the mode of the whole fleet.
	PutMode(ctx context.Context, mode fleet.Mode) error
}

func (s *server) settingRoutes() []route {
	const device, tag, all = Prefix + "/devices/{deviceID}/settings", Prefix + "/tags/{tag}/settings", Prefix + "/configurator"
	settings, mode, put := reflect.TypeFor[api.DeviceSettings](), reflect.TypeFor[api.ModeSetting](), reflect.TypeFor[api.PutMode]()
	return []route{
		{method: http.MethodGet, path: device, name: "getDeviceSettings", summary: "Settings of a device beyond the contract", permission: auth.Read,
			reply: settings, handle: s.getDeviceSettings},
		{method: http.MethodPut, path: device, name: "putDeviceSettings", summary: "Change settings of a device; what is left out stays", permission: auth.WriteSettings,
			body: reflect.TypeFor[api.PutDeviceSettings](), reply: settings, conditional: true, handle: s.putDeviceSettings},
		{method: http.MethodGet, path: tag, name: "getTagSettings", summary: "Whether Muster writes to the devices with a tag", permission: auth.Read,
			reply: mode, handle: s.getTagSettings},
		{method: http.MethodPut, path: tag, name: "putTagSettings", summary: "Set whether Muster writes to the devices with a tag", permission: auth.WriteSettings,
			body: put, reply: mode, handle: s.putTagSettings},
		{method: http.MethodGet, path: all, name: "getConfigurator", summary: "Whether Muster writes to devices at all", permission: auth.Read,
			reply: mode, handle: s.getConfigurator},
		{method: http.MethodPut, path: all, name: "putConfigurator", summary: "Set whether Muster writes to devices at all", permission: auth.WriteSettings,
			body: put, reply: mode, handle: s.putConfigurator},
	}
}

func (s *server) getDeviceSettings(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	return show(wireSettings(device.Settings))
}

func (s *server) putDeviceSettings(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.PutDeviceSettings](r)
	if err != nil {
		return reply{}, err
	}
	stored, err := s.Settings.PutDeviceSettings(r.Context(), device.ID, func(settings *fleet.DeviceSettings) error {
		if err := r.meets(true, func() ([]byte, error) { return encode(wireSettings(*settings)) }); err != nil {
			return err
		}
		return changeSettings(settings, body)
	})
	if err != nil {
		return reply{}, err
	}
	return show(wireSettings(stored))
}

var pinForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func changeSettings(settings *fleet.DeviceSettings, body api.PutDeviceSettings) error {
	if body.Mode != nil {
		mode, err := fleet.ParseMode(*body.Mode)
		if err != nil {
			return err
		}
		settings.Mode = mode
	}
	if body.Pin != nil {
		pin := strings.ToLower(*body.Pin)
		if pin != "" && !pinForm.MatchString(pin) {
			return fleet.Invalidf("pin", "pin is sha256: and the 64 hexadecimal digits of the certificate's SHA-256, or blank to forget it")
		}
		settings.Pin = pin
	}
	settings.AllowPlain = or(body.AllowPlain, settings.AllowPlain)
	return nil
}

func wireSettings(settings fleet.DeviceSettings) api.DeviceSettings {
	return api.DeviceSettings{Mode: string(orOn(settings.Mode)), AllowPlain: settings.AllowPlain, Pin: settings.Pin}
}

// orOn is the mode of what nobody set one for.
func orOn(mode fleet.Mode) fleet.Mode {
	if mode == "" {
		return fleet.ModeOn
	}
	return mode
}

func (s *server) getTagSettings(r *request) (reply, error) {
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(api.ModeSetting{Mode: string(orOn(registry.TagModes[tag]))})
}

func (s *server) putTagSettings(r *request) (reply, error) {
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	return putMode(r, func(mode fleet.Mode) error { return s.Settings.PutTagMode(r.Context(), tag, mode) })
}

func (s *server) getConfigurator(r *request) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(api.ModeSetting{Mode: string(orOn(registry.Mode))})
}

func (s *server) putConfigurator(r *request) (reply, error) {
	return putMode(r, func(mode fleet.Mode) error { return s.Settings.PutMode(r.Context(), mode) })
}

func putMode(r *request, put func(fleet.Mode) error) (reply, error) {
	body, err := decode[api.PutMode](r)
	if err != nil {
		return reply{}, err
	}
	if err := missing(map[string]bool{"mode": body.Mode == nil}); err != nil {
		return reply{}, err
	}
	mode, err := fleet.ParseMode(*body.Mode)
	if err != nil {
		return reply{}, err
	}
	if err := put(mode); err != nil {
		return reply{}, err
	}
	return show(api.ModeSetting{Mode: string(mode)})
}
