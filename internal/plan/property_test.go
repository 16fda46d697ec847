package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// storage is a device of the sample, with which its folders are shared in clear.
const storage = "K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"

// pool holds templates that overlap in every way: same keys, members and what lies in them, additions and removals.
var pool = []fleet.Template{
	{ID: 1, Priority: 10, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "100"},
	{ID: 2, Priority: 20, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "200"},
	{ID: 3, Priority: 10, Op: fleet.OpMerge, Key: "", Text: `{"options": {"maxSendKbps": 300, "natEnabled": false}}`},
	{ID: 4, Priority: 30, Op: fleet.OpMerge, Key: "folders", Text: `[{"id": "new", "path": "/srv/new", "devices": [{"deviceID": "` + nora + `"}]}]`},
	{ID: 5, Priority: 40, Op: fleet.OpSet, Key: "folders.new.rescanIntervalS", Text: "60"},
	{ID: 6, Priority: 40, Op: fleet.OpSet, Key: "folders.*.label", Text: `"same"`},
	{ID: 7, Priority: 50, Op: fleet.OpMerge, Key: "devices", Text: `[{"deviceID": "` + nora + `", "compression": "always"}]`},
	{ID: 8, Priority: 60, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`},
	{ID: 9, Priority: 60, Op: fleet.OpRemove, Key: "folders", Text: `["photos-x4kd"]`},
	{ID: 10, Priority: 5, Op: fleet.OpMerge, Key: "folders.photos-x4kd", Text: `{"versioning": {"params": {"keep": "9", "extra": "1"}}, "rescanIntervalS": 9}`},
	{ID: 11, Priority: 5, Op: fleet.OpAppend, Key: "options.listenAddresses", Text: `["tcp://:9"]`},
	{ID: 12, Priority: 70, Op: fleet.OpMerge, Key: "folders.photos-x4kd.devices", Text: `[{"deviceID": "` + nora + `"}]`},
	{ID: 13, Priority: 80, Op: fleet.OpMerge, Key: "defaults.folder", Text: `{"rescanIntervalS": 33}`},
	{ID: 14, Priority: 55, Op: fleet.OpSet, Key: "devices." + storage + ".untrusted", Text: "true"},
	{ID: 15, Priority: 55, Op: fleet.OpAppend, Key: "remoteIgnoredDevices", Text: `[{"deviceID": "` + nora + `"}]`},
	{ID: 16, Priority: 90, Op: fleet.OpAppend, Key: "devices." + storage + ".ignoredFolders", Text: `[{"id": "new"}, {"id": "photos-x4kd"}]`},
	{ID: 17, Priority: 35, Op: fleet.OpMerge, Key: "folders.new.devices", Text: `[{"deviceID": "` + storage + `"}]`},
}

// world is a device, what templates it has now, and what the person at it last wanted.
type world struct {
	*scene
	wanted    stconfig.Value
	along     map[string]bool // devices that came along with a folder which the person took over
	templates []fleet.Template
}

// With any sequence of template changes and a person's edits, taking all templates away leaves exactly what the person
// last wanted.
func TestTakingAllTemplatesAwayLeavesWhatThePersonWanted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{scene: newScene(t)}
		w.registered[fleet.DeviceID(nora)] = "Nora"
		w.consent = func(plan.Change) bool { return true }
		w.wanted, w.along = w.observed, map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w.act(rt)
		}
		w.templates = nil
		for range 2 { // a consented removal may free a device
			w.bring(rt)
		}
		w.leave()
		for _, c := range stconfig.Diff(w.wanted, w.observed) {
			rt.Errorf("%s is %s, the person wanted %s", c.Key, shown(c.To), shown(c.From))
		}
		for _, e := range w.entries {
			if e.Key != "devices."+nora { // it stays Muster's for as long as a folder that is the person's now needs it
				rt.Errorf("entry left: %v", e.Key)
			}
		}
	})
}

func (w *world) act(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"template", "template", "template", "edit", "edit", "member"}).Draw(rt, "act") {
	case "template":
		picked := pool[rapid.IntRange(0, len(pool)-1).Draw(rt, "template")]
		at := slices.IndexFunc(w.templates, func(t fleet.Template) bool { return t.ID == picked.ID })
		if at >= 0 {
			w.templates = slices.Delete(slices.Clone(w.templates), at, at+1)
		} else {
			w.templates = append(slices.Clone(w.templates), picked)
			slices.SortFunc(w.templates, fleet.CompareTemplates)
		}
	case "edit":
		key := rapid.SampledFrom([]string{"options.maxSendKbps", "options.maxRecvKbps", "folders.new.rescanIntervalS",
			"folders.photos-x4kd.rescanIntervalS", "folders.new.label", "folders.photos-x4kd.versioning.params.keep", "devices." + nora + ".compression"}).Draw(rt, "key")
		value := stconfig.Literal(fmt.Sprint(rapid.IntRange(1, 4).Draw(rt, "value") * 100))
		if !strings.HasSuffix(key, "Kbps") && !strings.HasSuffix(key, "IntervalS") {
			value = stconfig.Text(value.Str())
		}
		w.personSets(keyOf(w.t, key), value)
	case "member":
		w.personMoves(rapid.SampledFrom([]string{"folders.new", "folders.photos-x4kd", "folders.docs-7hq2"}).Draw(rt, "member"))
	}
	w.bring(rt)
}

func keyOf(t *testing.T, text string) stconfig.Key {
	key, err := stconfig.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// personSets writes a field. In a member that only Muster had made, the person takes over the member as it is.
func (w *world) personSets(key stconfig.Key, value stconfig.Value) {
	now := stconfig.Lookup(w.observed, key)
	if !stconfig.Lookup(w.observed, key.Parent()).Exists() || now.Equal(value) {
		return
	}
	w.observed = stconfig.Replace(w.observed, key, value)
	member := key
	for member.Len() > 2 {
		member = member.Parent()
	}
	if member.At(0).Name == "devices" && w.along[member.At(1).Name] {
		delete(w.along, member.At(1).Name)
		w.adopt(member)
		return
	}
	if member.Len() == 2 && !stconfig.Lookup(w.wanted, member).Exists() && member.At(0).Name != "options" {
		w.adopt(member)
	} else {
		w.wanted = stconfig.Replace(w.wanted, key, value)
	}
}

// adopt makes a member the person's, with the devices that a folder is shared with.
func (w *world) adopt(member stconfig.Key) {
	value := stconfig.Lookup(w.observed, member)
	w.wanted = stconfig.Replace(w.wanted, member, value)
	for share := range value.Get("devices").Values() {
		device := stconfig.Key{}.Child("devices").Child(share.Get("deviceID").Str())
		if !stconfig.Lookup(w.wanted, device).Exists() {
			w.wanted = stconfig.Replace(w.wanted, device, stconfig.Lookup(w.observed, device))
			w.along[share.Get("deviceID").Str()] = true
		}
	}
}

// leave takes out what came along with folders that the person does not want any more.
func (w *world) leave() {
	came := maps.Clone(w.along)
	for folder := range w.wanted.Get("folders").Values() {
		for share := range folder.Get("devices").Values() {
			delete(w.along, share.Get("deviceID").Str())
		}
	}
	for id := range came {
		key := keyOf(w.t, "devices."+id)
		if now := stconfig.Lookup(w.observed, key); now.Exists() && !w.along[id] {
			w.wanted = stconfig.Replace(w.wanted, key, now) // it stays, in whatever form
		}
	}
	for id := range w.along {
		w.wanted = stconfig.Replace(w.wanted, keyOf(w.t, "devices."+id), stconfig.Value{})
	}
}

// personMoves takes a folder away that is there.
func (w *world) personMoves(folder string) {
	key := keyOf(w.t, folder)
	if !stconfig.Lookup(w.observed, key).Exists() {
		return
	}
	w.observed = stconfig.Replace(w.observed, key, stconfig.Value{})
	w.wanted = stconfig.Replace(w.wanted, key, stconfig.Value{})
}

// bring does what the engine does: notes whose values are there, plans, sends, reads back.
func (w *world) bring(rt *rapid.T) {
	r, p, err := w.plan(w.templates)
	if err != nil {
		rt.Fatal(err)
	}
	var sent []desired.Sent
	var keys []stconfig.Key
	for _, c := range p.Sendable() {
		sent = append(sent, desired.Sent{Key: c.Key, To: c.Sending()})
		keys = append(keys, c.Key)
		w.observed = stconfig.Replace(w.observed, c.Key, c.Sending())
	}
	if w.entries, err = desired.Finish(r.Begin(sent), w.observed, w.own, keys); err != nil {
		rt.Fatal(err)
	}
	w.consistent(rt)
}

// consistent checks what the daemon would mend silently, but for what the person made.
func (w *world) consistent(rt *rapid.T) {
	has, untrusted := map[string]bool{}, map[string]bool{}
	for d := range w.observed.Get("devices").Values() {
		id := d.Get("deviceID").Str()
		has[id], untrusted[id] = true, d.Get("untrusted").IsTrue()
		for ignored := range d.Get("ignoredFolders").Values() {
			folder := ignored.Get("id").Str()
			theirs := stconfig.Lookup(w.wanted, keyOf(w.t, "devices."+id+".ignoredFolders."+folder)).Exists()
			if !theirs && stconfig.Lookup(w.observed, keyOf(w.t, "folders."+folder+".devices."+id)).Exists() {
				rt.Fatalf("folder %s is shared with %s and ignored", folder, id)
			}
		}
	}
	for ignored := range w.observed.Get("remoteIgnoredDevices").Values() {
		id := ignored.Get("deviceID").Str()
		if theirs := stconfig.Lookup(w.wanted, keyOf(w.t, "remoteIgnoredDevices."+id)).Exists(); !theirs && has[id] {
			rt.Fatalf("%s is a device, and ignored", id)
		}
	}
	for f := range w.observed.Get("folders").Values() {
		for share := range f.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); !has[id] {
				rt.Fatalf("folder %s is shared with %s, which is no device", f.Get("id").Str(), id)
			} else if untrusted[id] && share.Get("encryptionPassword").Str() == "" && id != string(w.own) {
				rt.Fatalf("folder %s is shared in clear with %s, which is not trusted", f.Get("id").Str(), id)
			}
		}
	}
}
