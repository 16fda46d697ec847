package desired

import (
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// devicesIn are the members of `devices` that a template with that value at that key names.
func devicesIn(key stconfig.Key, value stconfig.Value) []fleet.DeviceID {
	switch {
	case key.IsRoot():
		value = value.Get("devices")
	case !strings.EqualFold(key.At(0).Name, "devices") || key.Len() > 2:
		return nil
	case key.Len() == 2:
		if key.At(1).Every {
			return nil
		}
		return []fleet.DeviceID{fleet.DeviceID(key.At(1).Name)}
	}
	if value.Kind() != stconfig.Array {
		value = stconfig.List(value)
	}
	var ids []fleet.DeviceID
	for member := range value.Values() {
		if member.Kind() == stconfig.Object {
			member = member.Get("deviceID")
		}
		if id, err := fleet.ParseDeviceID(member.Str()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
