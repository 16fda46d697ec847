package view

import (
	"encoding/base64"
	"errors"
	"strings"

	"muster/internal/fleet"
)

// DeviceCursor names the place of a device in lists by label and ID, also after the device was deleted.
func DeviceCursor(d *fleet.Registered) string {
	return string(d.ID) + "." + base64.RawURLEncoding.EncodeToString([]byte(d.Label))
}

// BeyondDevice reports whether a device comes after the position of a cursor.
func BeyondDevice(cursor string, d *fleet.Registered) (bool, error) {
	at, err := deviceOfCursor(cursor)
	return fleet.CompareDevices(d.Device, at) > 0, err
}

// deviceOfCursor returns the ID and label of the device from which a cursor was made.
func deviceOfCursor(cursor string) (fleet.Device, error) {
	id, encoded, found := strings.Cut(cursor, ".")
	label, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !found {
		return fleet.Device{}, errors.New("no cursor of a device")
	}
	return fleet.Device{ID: fleet.DeviceID(id), Label: string(label)}, nil
}
