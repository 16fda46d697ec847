package template

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Facts are what a template can read about one device.
type Facts struct {
	DeviceID   fleet.DeviceID `json:"deviceID"`
	Label      string         `json:"label"`
	Tags       []fleet.Tag    `json:"tags"` // sorted
	APIAddress string         `json:"apiAddress"`
	APIPort    int            `json:"apiPort"`
	OS         string         `json:"os"`      // "linux" and so on; "" before the first contact
	Arch       string         `json:"arch"`    // "amd64"
	Version    string         `json:"version"` // "v2.1.3"

	// Vars is set only for the device that the template is evaluated for. A template cannot read the vars of other
	// devices.
	Vars fleet.Vars `json:"vars,omitempty"`
	// Peer is set only for the devices of a Fleet, and only for programs that read it.
	Peer *Peer `json:"peer,omitempty"`
}

// FactsOf returns the facts of a registered device, without its vars. v is the version of its daemon, zero when it is
// not known.
func FactsOf(d *fleet.Registered, v fleet.Version) Facts {
	return Facts{DeviceID: d.ID, Label: d.Label, Tags: d.Tags, APIAddress: d.APIAddress, APIPort: d.APIPort,
		OS: v.OS, Arch: v.Arch, Version: v.Version}
}

// SampleFacts are the facts of the sample device, on which a template can be tried without any real device.
var SampleFacts = Facts{DeviceID: stconfig.SampleID, Label: "Sample", APIPort: fleet.DefaultAPIPort,
	OS: "linux", Arch: "amd64", Version: "v2.1.3"}

// factNames are the facts that a template can read of every device. ownNames are those it can read of the device that
// it is evaluated for.
var (
	factNames = []string{"deviceID", "label", "tags", "apiAddress", "apiPort", "os", "arch", "version"}
	ownNames  = append(slices.Clone(factNames), "vars")
)

// AppendDigest appends the facts that a program reads to b, and all facts when the program passes its device on as a
// whole. Two devices with equal bytes get the same result from the program.
func (f Facts) AppendDigest(b []byte, read fleet.DeviceFacts) []byte {
	for _, name := range ownNames {
		if !read.Has(name) {
			continue
		}
		b = append(b, name...)
		switch name {
		case "tags":
			b = binary.AppendUvarint(b, uint64(len(f.Tags)))
			for _, tag := range f.Tags {
				b = appendText(b, string(tag))
			}
		case "apiPort":
			b = binary.AppendVarint(b, int64(f.APIPort))
		default:
			b = appendText(b, f.text(name))
		}
	}
	if read == fleet.AllFacts {
		b = f.Peer.appendDigest(b)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// text returns the fact with this name, for the facts that are strings.
func (f Facts) text(name string) string {
	switch name {
	case "deviceID":
		return string(f.DeviceID)
	case "label":
		return f.Label
	case "apiAddress":
		return f.APIAddress
	case "os":
		return f.OS
	case "arch":
		return f.Arch
	case "vars":
		return string(f.Vars)
	default:
		return f.Version
	}
}

// Fleet holds the facts of all devices. It is immutable. Make it once per change: it converts the values that programs
// see once and shares them between evaluations.
type Fleet struct {
	devices []Facts // sorted by device ID
	digests func() [2]string
	values  func() fleetValues
}

// fleetValues are the facts as Starlark values, all of them frozen.
type fleetValues struct {
	all   *starlark.List
	byTag map[string]*starlark.List
	tags  *starlark.List
}

// NewFleet makes a Fleet of the facts of all devices, in any order. It leaves out their vars.
func NewFleet(devices []Facts) *Fleet {
	f := &Fleet{devices: slices.Clone(devices)}
	for i := range f.devices {
		f.devices[i].Vars = ""
	}
	slices.SortFunc(f.devices, func(a, b Facts) int { return cmp.Compare(a.DeviceID, b.DeviceID) })
	f.digests = sync.OnceValue(f.makeDigests)
	f.values = sync.OnceValue(f.makeValues)
	return f
}

// Devices returns the facts sorted by device ID. The caller must not change them.
func (f *Fleet) Devices() []Facts {
	if f == nil {
		return nil
	}
	return f.devices
}

// Of returns the facts of one device, or zero Facts when the device is not in the fleet.
func (f *Fleet) Of(id fleet.DeviceID) Facts {
	i, found := slices.BinarySearchFunc(f.devices, id, func(d Facts, id fleet.DeviceID) int {
		return cmp.Compare(d.DeviceID, id)
	})
	if !found {
		return Facts{}
	}
	return f.devices[i]
}

// Digest returns a text that is equal for two fleets with equal facts.
func (f *Fleet) Digest() string {
	if f == nil {
		return ""
	}
	return f.digests()[0]
}

// TagsDigest returns a text that is equal for two fleets with the same set of tags.
func (f *Fleet) TagsDigest() string {
	if f == nil {
		return ""
	}
	return f.digests()[1]
}

// tagNames returns every tag that a device has, sorted and each once.
func (f *Fleet) tagNames() []fleet.Tag {
	var names []fleet.Tag
	for _, d := range f.devices {
		names = append(names, d.Tags...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *Fleet) makeDigests() [2]string {
	var all, tags []byte
	for _, d := range f.devices {
		all = d.AppendDigest(all, fleet.AllFacts)
	}
	for _, tag := range f.tagNames() {
		tags = appendText(tags, string(tag))
	}
	facts, names := sha256.Sum256(all), sha256.Sum256(tags)
	return [2]string{string(facts[:]), string(names[:])}
}

func (f *Fleet) makeValues() fleetValues {
	v := fleetValues{byTag: map[string]*starlark.List{}}
	all := make([]starlark.Value, len(f.devices))
	byTag := map[string][]starlark.Value{}
	for i, d := range f.devices {
		names := factNames
		if d.Peer != nil {
			names, d.Vars = peerNames, d.Peer.Vars
		}
		all[i] = newDevice(d, names)
		for _, tag := range d.Tags {
			byTag[string(tag)] = append(byTag[string(tag)], all[i])
		}
	}
	v.all = frozenList(all)
	for tag, devices := range byTag {
		v.byTag[tag] = frozenList(devices)
	}
	v.tags = tagList(f.tagNames())
	return v
}

func frozenList(values []starlark.Value) *starlark.List {
	list := starlark.NewList(values)
	list.Freeze()
	return list
}

func tagList(tags []fleet.Tag) *starlark.List {
	values := make([]starlark.Value, len(tags))
	for i, tag := range tags {
		values[i] = starlark.String(tag)
	}
	return frozenList(values)
}

// devicesFunction makes the Starlark function devices(tag=None).
func (f *Fleet) devicesFunction() *starlark.Builtin {
	return starlark.NewBuiltin("devices", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
		kwargs []starlark.Tuple) (starlark.Value, error) {
		var tag starlark.Value = starlark.None
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "tag?", &tag); err != nil {
			return nil, err
		}
		switch tag := tag.(type) {
		case starlark.NoneType:
			return f.values().all, nil
		case starlark.String:
			if list := f.values().byTag[string(tag)]; list != nil {
				return list, nil
			}
			return noDevices, nil
		}
		return nil, fmt.Errorf("devices: a tag is a string, not %s", tag.Type())
	})
}

// tagsFunction makes the Starlark function tags().
func (f *Fleet) tagsFunction() *starlark.Builtin {
	return starlark.NewBuiltin("tags", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
		kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := starlark.UnpackArgs(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		return f.values().tags, nil
	})
}

var noDevices = frozenList(nil)

// device is a device as programs see it. A program reads a fact as d.label or as d["label"].
type device struct {
	id     string
	names  []string
	values []starlark.Value // ordered by name
}

var (
	_ starlark.HasAttrs        = (*device)(nil)
	_ starlark.IterableMapping = (*device)(nil)
	_ starlark.Comparable      = (*device)(nil)
)

// newDevice makes the device that programs see, with the named facts only.
func newDevice(f Facts, names []string) *device {
	d := &device{id: string(f.DeviceID), names: names, values: make([]starlark.Value, len(names))}
	for i, name := range names {
		switch name {
		case "vars":
			d.values[i] = varsOf(f.Vars)
		case "tags":
			d.values[i] = tagList(f.Tags)
		case "addresses":
			d.values[i] = addressList(f.Peer.Addresses)
		case "apiPort":
			d.values[i] = starlark.MakeInt(f.APIPort)
		default:
			d.values[i] = starlark.String(f.text(name))
		}
	}
	return d
}

// varsOf converts vars to the kind of object that programs also see for a configuration.
func varsOf(vars fleet.Vars) starlark.Value {
	value, err := stconfig.Parse([]byte(cmp.Or(vars, "{}")))
	if err != nil {
		value = stconfig.Obj()
	}
	return newObject(value, &place{ownDevice, "vars"})
}

func (d *device) String() string        { return "<device " + d.id + ">" }
func (d *device) Type() string          { return "device" }
func (d *device) Freeze()               {}
func (d *device) Truth() starlark.Bool  { return true }
func (d *device) Hash() (uint32, error) { return starlark.String(d.id).Hash() }
func (d *device) AttrNames() []string   { return d.names }

// Attr implements d.label. Its error lists all facts that a program may name: an element of devices() has those of
// peerNames, also where the program reads none of the vars and addresses and they were left out.
func (d *device) Attr(name string) (starlark.Value, error) {
	if i := slices.Index(d.names, name); i >= 0 {
		return d.values[i], nil
	}
	own := slices.Equal(d.names, ownNames)
	if !own && isPeerName(name) {
		return nil, errors.New(noPeers)
	}
	names, meant := peerNames, cmp.Or(peerMeant[name], factsMeant[name])
	if own {
		names, meant = ownNames, factsMeant[name]
	}
	return nil, errors.New(noField("a device", name, cmp.Or(meant, fleet.Nearest(name, names)), names))
}

// Get implements d["label"].
func (d *device) Get(key starlark.Value) (starlark.Value, bool, error) {
	name, ok := starlark.AsString(key)
	if !ok {
		return nil, false, fmt.Errorf("the fields of a device have names, not %s", key.Type())
	}
	v, err := d.Attr(name)
	return v, err == nil, err
}

func (d *device) Items() []starlark.Tuple {
	items := make([]starlark.Tuple, len(d.names))
	for i, name := range d.names {
		items[i] = starlark.Tuple{starlark.String(name), d.values[i]}
	}
	return items
}

func (d *device) Iterate() starlark.Iterator { return nameIterator(d.names) }

// CompareSameType compares device IDs only, because within one evaluation a device always has the same facts.
func (d *device) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	return equality(op, d.Type(), d.id == other.(*device).id)
}

func equality(op syntax.Token, kind string, equal bool) (bool, error) {
	switch op {
	case syntax.EQL:
		return equal, nil
	case syntax.NEQ:
		return !equal, nil
	}
	return false, fmt.Errorf("%s %s %s is not defined", kind, op, kind)
}

// value converts a device that a program returned to an object with its facts.
func (d *device) value() stconfig.Value {
	members := make([]stconfig.Member, len(d.names))
	for i, name := range d.names {
		members[i] = stconfig.Member{Name: name, Value: plainValue(d.values[i])}
	}
	return stconfig.Obj(members...)
}

func plainValue(v starlark.Value) stconfig.Value {
	switch v := v.(type) {
	case starlark.String:
		return stconfig.Text(string(v))
	case starlark.Int:
		return stconfig.Literal(v.String())
	case *object:
		return v.value
	}
	list := v.(*starlark.List)
	members := make([]stconfig.Value, list.Len())
	for i := range members {
		members[i] = plainValue(list.Index(i))
	}
	return stconfig.List(members...)
}
