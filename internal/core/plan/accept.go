package plan

import (
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Accept returns the configuration doc with a pending device added, or with a pending folder shared with the device
// that offers it. asks is the pending entry. If name is "", the device or folder gets the name that the other device
// gave. path is the place for a folder that the daemon does not have yet, and must not be "" then.
func Accept(doc stconfig.Value, asks fleet.Pending, name, path string) (stconfig.Value, error) {
	if asks.Folder != "" {
		return shareFolder(doc, asks, name, path)
	}
	return addDevice(doc, asks, name)
}

// addDevice adds the device that asks.
func addDevice(doc stconfig.Value, asks fleet.Pending, name string) (stconfig.Value, error) {
	if memberOf(doc.Get("devices"), "deviceID", string(asks.From)).Exists() {
		return doc, nil // Somebody else accepted the device meanwhile.
	}
	if name == "" {
		name = asks.Name
	}
	return mergeMember(doc, asks.Device, "devices", stconfig.Obj(
		stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(asks.From))},
		stconfig.Member{Name: "name", Value: stconfig.Text(name)},
		stconfig.Member{Name: "addresses", Value: stconfig.List(stconfig.Text("dynamic"))},
	))
}

// shareFolder shares the folder with the device that offers it.
func shareFolder(doc stconfig.Value, asks fleet.Pending, label, path string) (stconfig.Value, error) {
	if !memberOf(doc.Get("devices"), "deviceID", string(asks.From)).Exists() {
		return doc, &fleet.Error{Code: fleet.CodeConflict,
			Message: "the daemon does not know the device that offers this folder any more",
			Hint:    "Let the device in first."}
	}
	shared := stconfig.Obj(
		stconfig.Member{Name: "id", Value: stconfig.Text(asks.Folder)},
		stconfig.Member{Name: "devices",
			Value: stconfig.List(stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(asks.From))}))},
	)
	if memberOf(doc.Get("folders"), "id", asks.Folder).Exists() {
		return mergeMember(doc, asks.Device, "folders", shared)
	}
	if path == "" {
		return doc, &fleet.Error{
			Code: fleet.CodeInvalid, Message: "the device does not have this folder yet: it needs a path",
			Hint:    "Name in path where the device is to keep it; old daemons share the whole home directory without one.",
			Details: []fleet.Detail{{Field: "path", Message: "path is needed"}},
		}
	}
	if label == "" {
		label = asks.FolderLabel
	}
	fresh := shared.With("label", stconfig.Text(label)).With("path", stconfig.Text(path))
	if asks.Encrypted {
		fresh = fresh.With("type", stconfig.Text("receiveencrypted"))
	}
	return mergeMember(doc, asks.Device, "folders", fresh)
}

// mergeMember adds or changes one member of a list. A new member starts from the daemon's own defaults.
func mergeMember(doc stconfig.Value, own fleet.DeviceID, list string, member stconfig.Value) (stconfig.Value, error) {
	changed, _, err := stconfig.Apply(doc, fleet.OpMerge, stconfig.Key{}.Child(list), stconfig.List(member), own)
	return changed, err
}

func memberOf(list stconfig.Value, field, id string) stconfig.Value {
	for member := range list.Values() {
		if member.Get(field).Str() == id {
			return member
		}
	}
	return stconfig.Value{}
}
