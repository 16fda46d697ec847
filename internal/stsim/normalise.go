package stsim

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// owner describes the daemon for which a document is normalised.
type owner struct {
	id     fleet.DeviceID
	name   string        // of the machine: what an own entry that had to be added is called
	newKey func() string // a random API key
}

// Normalise is what GET /rest/config gives after body was PUT to a daemon of that version and ID on a machine of that
// name. A key that had to be made is "new"; a password stays as it is.
func Normalise(v Version, id fleet.DeviceID, host string, body stconfig.Value) (stconfig.Value, error) {
	o := owner{id: id, name: host, newKey: func() string { return "new" }}
	doc, err := v.schema().read(body, o)
	if err != nil {
		return doc, err
	}
	return v.schema().prepare(doc, o) // as it is once more when it is taken over
}

// read is a PUT of the whole document: everything that body does not name becomes a default. Folders and devices start
// from the document's own defaults.
func (s *schema) read(body stconfig.Value, o owner) (stconfig.Value, error) {
	doc, err := s.config.decode(s.config.preset, body, "")
	if err != nil {
		return doc, err
	}
	for _, section := range []struct {
		name    string
		shape   *shape
		startAt stconfig.Value
	}{
		{"folders", s.folder, doc.Get("defaults").Get("folder")},
		{"devices", s.device, doc.Get("defaults").Get("device")},
	} {
		members, err := decodeMembers(section.shape, section.startAt, body.Get(section.name))
		if err != nil {
			return doc, err
		}
		doc = doc.With(section.name, stconfig.List(members...))
	}
	return s.prepare(doc, o)
}

// decodeMembers reads each member of a list over a copy of the default.
func decodeMembers(of *shape, startAt, bodies stconfig.Value) ([]stconfig.Value, error) {
	var members []stconfig.Value
	for body := range bodies.Values() {
		member, err := of.decode(startAt, body, "")
		if err != nil {
			return nil, err
		}
		members = append(members, member)
	}
	return members, nil
}

// prepare brings a document into the form in which the daemon keeps it (lib/config, Configuration.prepare).
func (s *schema) prepare(doc stconfig.Value, o owner) (stconfig.Value, error) {
	devices := s.prepareDeviceList(doc.Get("devices"), o)
	known := map[string]stconfig.Value{}
	for _, d := range devices {
		known[d.Get("deviceID").Str()] = d
	}
	folders, err := s.prepareFolders(doc.Get("folders"), known, o)
	if err != nil {
		return doc, err
	}
	for i, d := range devices {
		devices[i] = s.prepareDevice(d, foldersSharedWith(folders, d.Get("deviceID").Str()))
	}
	doc = doc.With("folders", stconfig.List(folders...)).With("devices", stconfig.List(devices...))

	gui := doc.Get("gui")
	if gui.Get("apiKey").Str() == "" {
		gui = gui.With("apiKey", stconfig.Text(o.newKey()))
		doc = doc.With("gui", gui)
	}
	doc = doc.With("options", s.prepareOptions(doc.Get("options"), gui))
	doc = doc.With("remoteIgnoredDevices", without(doc.Get("remoteIgnoredDevices"), func(d stconfig.Value) bool {
		_, isKnown := known[d.Get("deviceID").Str()]
		return isKnown
	}))
	doc = doc.With("defaults", s.prepareDefaults(doc.Get("defaults"), known, o))
	doc = s.config.fillNil(doc)
	return s.migrate(doc), nil
}

func (s *schema) prepareDeviceList(list stconfig.Value, o owner) []stconfig.Value {
	own := string(o.id)
	devices := slices.Collect(list.Values())
	if !slices.ContainsFunc(devices, hasDeviceID(own)) {
		devices = append(devices, s.device.zero.With("deviceID", stconfig.Text(own)).With("name", stconfig.Text(o.name)))
	}
	devices = uniqueDevices(devices)
	devices = slices.DeleteFunc(devices, hasDeviceID(""))
	return devices
}

func hasDeviceID(id string) func(stconfig.Value) bool {
	return func(d stconfig.Value) bool { return d.Get("deviceID").Str() == id }
}

// uniqueDevices keeps the first of several with one ID, sorted by ID.
func uniqueDevices(devices []stconfig.Value) []stconfig.Value {
	seen := map[string]bool{}
	devices = slices.DeleteFunc(devices, func(d stconfig.Value) bool {
		id := d.Get("deviceID").Str()
		again := seen[id]
		seen[id] = true
		return again
	})
	slices.SortFunc(devices, func(a, b stconfig.Value) int {
		return compareDeviceIDs(a.Get("deviceID").Str(), b.Get("deviceID").Str())
	})
	return devices
}

// compareDeviceIDs is the order of the hashes behind the IDs: in base32 the digits come after the letters.
func compareDeviceIDs(a, b string) int {
	rank := func(c byte) int {
		if c >= '2' && c <= '7' {
			return int(c) + 'Z'
		}
		return int(c)
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(rank(a[i]), rank(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

func (s *schema) prepareFolders(list stconfig.Value, known map[string]stconfig.Value, o owner) ([]stconfig.Value,
	error) {
	folders := slices.Collect(list.Values())
	seen := map[string]bool{}
	for i, f := range folders {
		id := f.Get("id").Str()
		switch {
		case id == "":
			return nil, errors.New("folder has empty ID")
		case f.Get("path").Str() == "":
			return nil, fmt.Errorf("folder %q: folder has empty path", id)
		case seen[id]:
			return nil, fmt.Errorf("folder %q: folder has duplicate ID", id)
		}
		seen[id] = true
		folders[i] = s.prepareFolder(f, known, o)
	}
	slices.SortFunc(folders, func(a, b stconfig.Value) int {
		return strings.Compare(a.Get("id").Str(),
			b.Get("id").Str())
	})
	return folders, nil
}

func (s *schema) prepareFolder(f stconfig.Value, known map[string]stconfig.Value, o owner) stconfig.Value {
	encrypted := f.Get("type").Str() == "receiveencrypted"
	devices := slices.Collect(f.Get("devices").Values())
	devices = slices.DeleteFunc(devices, func(d stconfig.Value) bool { return !known[d.Get("deviceID").Str()].Exists() })
	if !slices.ContainsFunc(devices, hasDeviceID(string(o.id))) {
		devices = append(devices, s.folderDevice().zero.With("deviceID", stconfig.Text(string(o.id))))
	}
	if s.unsharesUntrusted && !encrypted {
		devices = slices.DeleteFunc(devices, func(d stconfig.Value) bool {
			return d.Get("encryptionPassword").Str() == "" && known[d.Get("deviceID").Str()].Get("untrusted").IsTrue()
		})
	}
	f = set(f, "devices", stconfig.List(uniqueDevices(devices)...))
	return stconfig.WithForcedIn(stconfig.InFolder, f, s.version, stconfig.Value{})
}

func (s *schema) folderDevice() *shape { return s.folder.fields[s.folder.index["devices"]].shape.elem }

func foldersSharedWith(folders []stconfig.Value, id string) map[string]bool {
	shared := map[string]bool{}
	for _, f := range folders {
		if slices.ContainsFunc(slices.Collect(f.Get("devices").Values()), hasDeviceID(id)) {
			shared[f.Get("id").Str()] = true
		}
	}
	return shared
}

func (s *schema) prepareDevice(d stconfig.Value, shared map[string]bool) stconfig.Value {
	if d.Get("addresses").Kind() == stconfig.Null {
		d = d.With("addresses", stconfig.List())
	}
	d = set(d, "ignoredFolders", uniqueIgnored(d.Get("ignoredFolders"), shared))
	return stconfig.WithForcedIn(stconfig.InDevice, d, s.version, stconfig.Value{})
}

// uniqueIgnored keeps the newest entry of each folder that is not shared, oldest first.
func uniqueIgnored(list stconfig.Value, shared map[string]bool) stconfig.Value {
	when := func(v stconfig.Value) time.Time {
		t, _ := time.Parse(time.RFC3339Nano, v.Get("time").Str())
		return t
	}
	newest := map[string]stconfig.Value{}
	for entry := range list.Values() {
		id := entry.Get("id").Str()
		if other, there := newest[id]; !there || when(other).Before(when(entry)) {
			newest[id] = entry
		}
	}
	var kept []stconfig.Value
	for id, entry := range newest {
		if !shared[id] {
			kept = append(kept, entry)
		}
	}
	slices.SortFunc(kept, func(a, b stconfig.Value) int {
		return cmp.Or(when(a).Compare(when(b)), strings.Compare(a.Get("id").Str(), b.Get("id").Str()))
	})
	return stconfig.List(kept...)
}

func (s *schema) prepareOptions(o, gui stconfig.Value) stconfig.Value {
	for _, name := range []string{"listenAddresses", "globalAnnounceServers", "stunServers"} {
		if o.Get(name).Kind() == stconfig.Null {
			o = o.With(name, stconfig.List(stconfig.Text("default")))
		}
	}
	return stconfig.WithForcedIn(stconfig.InOptions, o, s.version, gui)
}

func (s *schema) prepareDefaults(d stconfig.Value, known map[string]stconfig.Value, o owner) stconfig.Value {
	empty := stconfig.Text("")
	folder := s.prepareFolder(set(d.Get("folder"), "id", empty), known, o)
	device := s.prepareDevice(set(set(d.Get("device"), "deviceID", empty), "introducedBy", empty), nil)
	return set(set(d, "folder", folder), "device", device)
}

func set(v stconfig.Value, name string, to stconfig.Value) stconfig.Value {
	if v.Get(name).Equal(to) {
		return v
	}
	return v.With(name, to)
}

func integerOf(v stconfig.Value) int64 {
	n, _ := strconv.ParseInt(v.Str(), 10, 64)
	return n
}

func without(list stconfig.Value, drop func(stconfig.Value) bool) stconfig.Value {
	if list.Kind() != stconfig.Array {
		return list
	}
	kept := slices.DeleteFunc(slices.Collect(list.Values()), drop)
	if len(kept) == list.Len() {
		return list
	}
	return stconfig.List(kept...)
}

// announceV2 is the address of a discovery server as the migration to version 14 writes it.
func announceV2(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	if u.Scheme == "https" {
		u.Path = path.Join(u.Path, "v2") + "/"
		return u.String(), true
	}
	return address, true
}
