package pending

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Accept adds the device, or the folder shared with whoever offers it, to the daemon's configuration, and answers when
// that was read back. Names that are "" are those of whoever asks. A folder that the daemon does not have yet needs a
// path. What templates would take back is a conflict.
func (i *Inbox) Accept(ctx context.Context, asks fleet.Pending, name, path string) error {
	what := "accept of device " + string(asks.From)
	change := func(doc stconfig.Value) (stconfig.Value, error) { return addDevice(doc, asks, name) }
	if asks.Folder != "" {
		what = "accept of folder " + asks.Folder + " from " + string(asks.From)
		change = func(doc stconfig.Value) (stconfig.Value, error) { return shareFolder(doc, asks, name, path) }
	}
	if err := i.o.Daemon.Amend(ctx, asks.Device, what, change); err != nil {
		return err
	}
	i.drop(asks)
	return nil
}

// Dismiss has the daemon forget what asks it. Whoever asks may ask again.
func (i *Inbox) Dismiss(ctx context.Context, asks fleet.Pending) error {
	if err := i.may(asks.Device); err != nil {
		return err
	}
	if err := i.o.Daemon.DismissPending(ctx, asks.Device, asks); err != nil {
		return err
	}
	i.drop(asks)
	return nil
}

func (i *Inbox) drop(asks fleet.Pending) {
	i.change(asks.Device, func(asking map[key]fleet.Pending) { delete(asking, keyOf(asks)) })
}

// may tells whether the daemon may be asked to forget: that is no change of its configuration, which has its own rule.
func (i *Inbox) may(id fleet.DeviceID) error {
	if i.o.Mode == nil || i.o.Mode(id) == fleet.ModeOn {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: "Muster does not write to this device: its mode is " +
		string(i.o.Mode(id)),
		Hint: "`muster status` lists the stops in force, with the command that ends each. Or do it at the daemon."}
}

// addDevice is the configuration with the device in it.
func addDevice(doc stconfig.Value, asks fleet.Pending, name string) (stconfig.Value, error) {
	if memberOf(doc.Get("devices"), "deviceID", string(asks.From)).Exists() {
		return doc, nil // somebody else let it in
	}
	if name == "" {
		name = asks.Name
	}
	return merge(doc, asks.Device, "devices", stconfig.Obj(
		stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(asks.From))},
		stconfig.Member{Name: "name", Value: stconfig.Text(name)},
		stconfig.Member{Name: "addresses", Value: stconfig.List(stconfig.Text("dynamic"))},
	))
}

// shareFolder is the configuration with the folder shared with whoever offers it.
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
		return merge(doc, asks.Device, "folders", shared)
	}
	if path == "" {
		return doc, &fleet.Error{
			Code: fleet.CodeInvalid, Message: "the device does not have this folder yet: it needs a path",
			Hint:    "Say in path where the device shall keep it; old daemons share the whole home directory without one.",
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
	return merge(doc, asks.Device, "folders", fresh)
}

// merge adds or changes one member of a list; a new one starts from the daemon's own defaults.
func merge(doc stconfig.Value, own fleet.DeviceID, list string, member stconfig.Value) (stconfig.Value, error) {
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
