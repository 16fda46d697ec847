package pending

import (
	"context"
	"net/http"
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Accept adds the device, or the folder shared with whoever offers it, to the daemon's configuration. Names that are ""
// are those of whoever asks. A folder that the daemon does not have yet needs a path.
func (i *Inbox) Accept(ctx context.Context, asks fleet.Pending, name, path string) error {
	if err := i.may(asks.Device); err != nil {
		return err
	}
	doc, err := i.document(ctx, asks.Device)
	if err != nil {
		return err
	}
	if asks.Folder == "" {
		err = i.addDevice(ctx, doc, asks, name)
	} else {
		err = i.shareFolder(ctx, doc, asks, name, path)
	}
	if err != nil {
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

// may tells whether the device is written to.
func (i *Inbox) may(id fleet.DeviceID) error {
	if i.o.Mode == nil || i.o.Mode(id) == fleet.ModeOn {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: "Muster does not write to this device: its mode is " + string(i.o.Mode(id)),
		Hint: "Set the fleet's, the tags' and the device's mode to on, or do it at the daemon."}
}

// document is the configuration as the daemon has it now.
func (i *Inbox) document(ctx context.Context, id fleet.DeviceID) (stconfig.Value, error) {
	observed, err := i.o.Daemon.Config(ctx, id)
	if err != nil {
		return stconfig.Value{}, err
	}
	doc, err := stconfig.Parse(observed.JSON)
	if err != nil {
		return doc, err
	}
	return doc, stconfig.Usable(doc, id)
}

func (i *Inbox) addDevice(ctx context.Context, doc stconfig.Value, asks fleet.Pending, name string) error {
	if memberOf(doc.Get("devices"), "deviceID", string(asks.From)).Exists() {
		return nil // somebody else let it in
	}
	if name == "" {
		name = asks.Name
	}
	return i.put(ctx, asks.Device, "/rest/config/devices", stconfig.Obj(
		stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(asks.From))},
		stconfig.Member{Name: "name", Value: stconfig.Text(name)},
		stconfig.Member{Name: "addresses", Value: stconfig.List(stconfig.Text("dynamic"))},
	))
}

func (i *Inbox) shareFolder(ctx context.Context, doc stconfig.Value, asks fleet.Pending, label, path string) error {
	if !memberOf(doc.Get("devices"), "deviceID", string(asks.From)).Exists() {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "the daemon does not know the device that offers this folder any more",
			Hint: "Let the device in first."}
	}
	share := stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(asks.From))})
	folder := memberOf(doc.Get("folders"), "id", asks.Folder)
	if folder.Exists() {
		if memberOf(folder.Get("devices"), "deviceID", string(asks.From)).Exists() {
			return nil
		}
		shares := append(slices.Collect(folder.Get("devices").Values()), share)
		return i.put(ctx, asks.Device, "/rest/config/folders", folder.With("devices", stconfig.List(shares...)))
	}
	if path == "" {
		return &fleet.Error{
			Code: fleet.CodeInvalid, Message: "the device does not have this folder yet: it needs a path",
			Hint:    "Say in path where the device shall keep it; old daemons share the whole home directory without one.",
			Details: []fleet.Detail{{Field: "path", Message: "path is needed"}},
		}
	}
	if label == "" {
		label = asks.FolderLabel
	}
	fresh := stconfig.Obj(
		stconfig.Member{Name: "id", Value: stconfig.Text(asks.Folder)},
		stconfig.Member{Name: "label", Value: stconfig.Text(label)},
		stconfig.Member{Name: "path", Value: stconfig.Text(path)},
		stconfig.Member{Name: "devices", Value: stconfig.List(share)},
	)
	if asks.Encrypted {
		fresh = fresh.With("type", stconfig.Text("receiveencrypted"))
	}
	return i.put(ctx, asks.Device, "/rest/config/folders", fresh)
}

// put adds or replaces one member of a list: that never removes another, and takes every ID.
func (i *Inbox) put(ctx context.Context, id fleet.DeviceID, path string, member stconfig.Value) error {
	return i.o.Daemon.Write(ctx, id, http.MethodPut, path, stconfig.List(member).JSON())
}

func memberOf(list stconfig.Value, field, id string) stconfig.Value {
	for member := range list.Values() {
		if member.Get(field).Str() == id {
			return member
		}
	}
	return stconfig.Value{}
}
