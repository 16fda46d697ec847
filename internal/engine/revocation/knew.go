package revocation

import (
	"context"
	"regexp"
	"slices"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Knew names the passwords and keys that a revoked device knew. Muster does not change them: a person does.
type Knew struct {
	// ReadAt is when the configuration was read from which this was taken; zero: Muster has none, so nothing is known.
	ReadAt time.Time
	// Passwords are the encryption passwords that the device sent its data with.
	Passwords []Password
	// SameKey are devices whose API key is that of the revoked device.
	SameKey []fleet.DeviceID
	// Secrets are secrets of Muster that templates of the device name, sorted. The device may have got them.
	Secrets []string
}

// Password is the encryption password with which a folder is shared with a device.
type Password struct {
	Folder string
	Label  string
	With   fleet.DeviceID
}

// maxPasswords is how many passwords a certificate names.
const maxPasswords = 500

// secretName finds the secrets that the text of a template names.
var secretName = regexp.MustCompile(`(?:secret\(\s*["']|\$\{secret:)([^"'}]+)`)

// secretsIn returns the secrets that the templates of a device name.
func secretsIn(registry *fleet.Registry, id fleet.DeviceID) (names []string) {
	for _, template := range registry.TemplatesOf(id) {
		for _, found := range secretName.FindAllStringSubmatch(template.Text, -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// knew returns what is known about the secrets of a revoked device. It needs the device's record, with which its
// configuration is deleted.
func (p *Prover) knew(ctx context.Context, registry *fleet.Registry, revoked fleet.DeviceID,
	inside func(fleet.DeviceID) bool) (k Knew, err error) {
	device := registry.Devices[revoked]
	if device == nil {
		return k, nil
	}
	for id, other := range registry.Devices {
		if id != revoked && inside(id) && !device.APIKey.IsZero() && other.APIKey == device.APIKey {
			k.SameKey = append(k.SameKey, id)
		}
	}
	slices.Sort(k.SameKey)
	k.Secrets = secretsIn(registry, revoked)
	config, err := p.o.LastConfig(ctx, revoked)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	doc, err := stconfig.Parse(config.JSON)
	if err != nil {
		return k, nil //nolint:nilerr // A daemon before 1.12, or a damaged document: it says nothing.
	}
	k.ReadAt = config.SeenAt
	for folder := range doc.Get("folders").Values() {
		for share := range folder.Get("devices").Values() {
			if share.Get("encryptionPassword").Str() != "" && len(k.Passwords) < maxPasswords {
				k.Passwords = append(k.Passwords, Password{Folder: folder.Get("id").Str(), Label: folder.Get("label").Str(),
					With: fleet.DeviceID(share.Get("deviceID").Str())})
			}
		}
	}
	return k, nil
}
