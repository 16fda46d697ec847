package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// maxVersionsRead bounds how many configurations are read to find a field: one for each version of Syncthing.
const maxVersionsRead = 16

// HasField reports whether a daemon of the fleet has a field that the schema lacks, by the name of the field in the
// section of the key. One device is examined for each version in the fleet, because a version decides about fields.
func (e *Engine) HasField(ctx context.Context, key stconfig.Key) (has bool) {
	if key.Len() == 0 {
		return false
	}
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		e.log.Warn("not known which fields the daemons have", logkey.Err(err))
		return false
	}
	for _, id := range e.oneOfEachVersion(registry) {
		err := e.o.Memory.Do(ctx, func(ctx context.Context) error {
			observed, err := e.o.Store.ObservedConfig(ctx, id)
			if err != nil {
				return err
			}
			in, err := input{id: id}.withDocument(e.takeMemory(ctx), observed, stconfig.Value{})
			has = err == nil && hasField(in.doc, key)
			return err
		})
		if has {
			return true
		}
		if err != nil {
			e.log.Info("not known which fields a daemon has", logkey.Device, id, logkey.Err(err))
		}
	}
	return false
}

// oneOfEachVersion returns one device for each version of Syncthing whose configuration was read.
func (e *Engine) oneOfEachVersion(registry *fleet.Registry) (devices []fleet.DeviceID) {
	found := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(registry.Devices)) {
		known := e.o.Daemon.Known(id)
		if version := known.Version.Version; !known.NeverRead && !found[version] && len(devices) < maxVersionsRead {
			found[version], devices = true, append(devices, id)
		}
	}
	return devices
}

// hasField reports whether a document has a member with the name of the field in the key's section.
func hasField(doc stconfig.Value, key stconfig.Key) bool {
	section, name := key.At(0).Name, key.At(key.Len()-1).Name
	for member, value := range doc.Members() {
		if !strings.EqualFold(member, section) {
			continue
		}
		return key.Len() == 1 || hasMember(value, name)
	}
	return false
}

// hasMember reports whether an object below v has a member of this name.
func hasMember(v stconfig.Value, name string) bool {
	for member, value := range v.Members() {
		if strings.EqualFold(member, name) || hasMember(value, name) {
			return true
		}
	}
	for value := range v.Values() {
		if hasMember(value, name) {
			return true
		}
	}
	return false
}
