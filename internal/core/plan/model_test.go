//muster:quick -skip=^TestWhereDataMayGo$
//muster:test -rapid.checks=20 -rapid.seed=1 -skip=GuardMatrix|WhereData|EveryKey|NoPathIs
//muster:test -race=false -rapid.checks=1000 -rapid.seed=1
//muster:soak
//muster:soak -race=false -rapid.checks=10000
//muster:soak -race=false -run=TestTheDaemonHasWhatTemplatesMakeOfWhatPeopleWant -rapid.checks=50000
package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// The reference model of ownership: a second document, alone, that only people (and the daemon) change, and the values
// that people set in members that Muster made. What the daemon is to have is the fold of the templates over alone,
// with no record of anything. The implementation has records and never sees alone.

// storage is a device of the sample, with which its folders are shared in clear.
const storage = "K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"

const storageMark = "devices." + storage + ".untrusted"

// otto is a device that nobody registered: an introducer brings it.
const otto = "MFZWI3D-BONSGYC-YLTMRWG-C43ENR5-QXGZDMM-FZWI3DP-BONSGYY-LTMRWAD"

// pool holds templates that overlap in every way: same keys, members and what lies in them, additions and removals.
var pool = []fleet.Template{
	{ID: 1, Priority: 10, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "100"},
	{ID: 2, Priority: 20, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "200"},
	{ID: 3, Priority: 10, Op: fleet.OpMerge, Key: "", Text: `{"options": {"maxSendKbps": 300, "natEnabled": false}}`},
	{ID: 4, Priority: 30, Op: fleet.OpMerge, Key: "folders",
		Text: `[{"id": "new", "path": "/srv/new", "devices": [{"deviceID": "` + nora + `"}]}]`},
	{ID: 5, Priority: 40, Op: fleet.OpSet, Key: "folders.new.rescanIntervalS", Text: "60"},
	{ID: 6, Priority: 40, Op: fleet.OpSet, Key: "folders.*.label", Text: `"same"`},
	{ID: 7, Priority: 50, Op: fleet.OpMerge, Key: "devices", Text: `[{"deviceID": "` + nora +
		`", "compression": "always"}]`},
	{ID: 8, Priority: 60, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`},
	{ID: 9, Priority: 60, Op: fleet.OpRemove, Key: "folders", Text: `["photos-x4kd"]`},
	{ID: 10, Priority: 5, Op: fleet.OpMerge, Key: "folders.photos-x4kd.versioning.params",
		Text: `{"keep": "9", "extra": "1"}`},
	{ID: 11, Priority: 5, Op: fleet.OpAppend, Key: "options.listenAddresses", Text: `["tcp://:9"]`},
	{ID: 12, Priority: 70, Op: fleet.OpMerge, Key: "folders.photos-x4kd.devices", Text: `[{"deviceID": "` + nora + `"}]`},
	{ID: 13, Priority: 80, Op: fleet.OpMerge, Key: "defaults.folder", Text: `{"rescanIntervalS": 33}`},
	{ID: 14, Priority: 55, Op: fleet.OpSet, Key: storageMark, Text: "true"},
	{ID: 15, Priority: 55, Op: fleet.OpAppend, Key: "remoteIgnoredDevices", Text: `[{"deviceID": "` + nora + `"}]`},
	{ID: 16, Priority: 90, Op: fleet.OpAppend, Key: "devices." + storage + ".ignoredFolders",
		Text: `[{"id": "new"}, {"id": "photos-x4kd"}]`},
	{ID: 17, Priority: 35, Op: fleet.OpMerge, Key: "folders.new.devices", Text: `[{"deviceID": "` + storage + `"}]`},
	{ID: 18, Priority: 45, Op: fleet.OpSet, Key: "folders.new.paused", Text: "true"},
	{ID: 19, Priority: 46, Op: fleet.OpRemove, Key: "folders.new.devices", Text: `["` + nora + `"]`},
	{ID: 20, Priority: 25, Op: fleet.OpMerge, Key: "folders", Text: `[{"id": "new", "path": "/srv/new"}]`},
}

// world is a daemon with Muster, and what the model says of it.
type world struct {
	*scene
	templates []fleet.Template

	alone stconfig.Value // the document as people alone would have made it
	// inside has what people set in members that the document alone does not have, by key; Absent where they removed a
	// value.
	inside      map[string]stconfig.Value
	took        map[string]bool             // members that Muster took away
	gone        []stconfig.Key              // members of Muster's that people took away since the last plan
	wrote       map[string][]stconfig.Value // what Muster wrote at a leaf; of a member: at each leaf
	held        map[string]stconfig.Value   // what others had set in members that Muster took away
	history     []stconfig.Value            // documents that were there
	onlyImplied bool                        // nora was there only because a folder was shared with her
	values      int                         // for values that nobody ever wrote
	runs        int                         // of the daemon
}

func newWorld(t *testing.T) *world {
	w := &world{scene: newScene(t), inside: map[string]stconfig.Value{}, wrote: map[string][]stconfig.Value{},
		held: map[string]stconfig.Value{}, took: map[string]bool{}}
	w.registered[fleet.DeviceID(nora)] = "Nora"
	w.startsAnew()
	w.alone = w.observed
	return w
}

// With any sequence of changes of templates, people's edits, whole documents put back, introducers, upgrades, and
// writes that get lost, the daemon has what the templates make of what people alone would have; without templates,
// just that.
func TestTheDaemonHasWhatTemplatesMakeOfWhatPeopleWant(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w.act(rt)
			w.history = append(w.history, w.observed)
			w.bring(rt)
			w.asModelled(rt)
		}
		w.templates = nil
		w.bring(rt)
		w.asModelled(rt)
		for _, e := range w.entries {
			if e.MayBeOurs() && !w.keptAlong(e.Key) && !w.waitsForTrust(e.Key) {
				rt.Errorf("Muster's value is still at %s", e.Key)
			}
		}
	})
}

// keptAlong tells a device that stays for a share that a person made. It is not ignored as long as it is there.
func (w *world) keptAlong(key string) bool {
	return (key == "devices."+nora || key == ignoredDevice(nora).String()) && sharedWith(w.alone, nora)
}

// waitsForTrust tells a share of people's with a device that they keep untrusted: it comes back when the mark goes.
func (w *world) waitsForTrust(key string) bool {
	share := keyOf(w.t, key)
	return isShare(share) && share.At(3).Name == storage && stconfig.Lookup(w.alone, share).Exists() &&
		stconfig.Lookup(w.alone, keyOf(w.t, storageMark)).IsTrue()
}

func sharedWith(doc stconfig.Value, id string) bool {
	for folder := range doc.Get("folders").Values() {
		for share := range folder.Get("devices").Values() {
			if share.Get("deviceID").Str() == id {
				return true
			}
		}
	}
	return false
}

func (w *world) act(rt *rapid.T) {
	acts := map[string]func(*rapid.T){
		"template": w.changesTemplate, "template again": w.changesTemplate, "template once more": w.changesTemplate,
		"edit": w.edits, "edit again": w.edits, "pause": w.pauses, "member": w.movesMember, "share": w.movesShare,
		"put back": w.putsBack, "introducer": w.introduces, "upgrade": w.upgrades, "loss": w.losesWrites,
		"keep": w.keeps, "ignore": w.ignores,
	}
	names := make([]string, 0, len(acts))
	for name := range acts {
		names = append(names, name)
	}
	slices.Sort(names)
	acts[rapid.SampledFrom(names).Draw(rt, "act")](rt)
}

func (w *world) changesTemplate(rt *rapid.T) {
	picked := pool[rapid.IntRange(0, len(pool)-1).Draw(rt, "template")]
	at := slices.IndexFunc(w.templates, func(t fleet.Template) bool { return t.ID == picked.ID })
	if at >= 0 {
		w.templates = slices.Delete(slices.Clone(w.templates), at, at+1)
		return
	}
	w.templates = append(slices.Clone(w.templates), picked)
	slices.SortFunc(w.templates, fleet.CompareTemplates)
}

// keeps changes a template, and keeps one place as it is that would go back to what it was.
func (w *world) keeps(rt *rapid.T) {
	w.changesTemplate(rt)
	r, p := w.planned(rt)
	w.entries = r.Entries
	var returns []stconfig.Key
	for _, c := range p.Changes {
		if c.Returns && c.Class != plan.Skipped {
			returns = append(returns, c.Key)
		}
	}
	if len(returns) == 0 {
		return
	}
	key := rapid.SampledFrom(returns).Draw(rt, "place")
	w.keep(key.String())
	w.keptBy(key, stconfig.Lookup(w.observed, key))
}

// keptBy has the model know that what is at a key is a person's.
func (w *world) keptBy(key stconfig.Key, value stconfig.Value) {
	if stconfig.Lookup(w.alone, key.Parent()).Exists() {
		w.forget(key)
		w.forgetWrites(key)
		w.alone = stconfig.Replace(w.alone, key, value)
		if value.Exists() {
			w.alone = unignored(w.alone, key)
		}
		if id := key.At(1).Name; !value.Exists() && key.Len() == 2 && key.At(0).Name == "devices" {
			w.unshare(id)
		}
		return
	}
	w.inside[key.String()] = value
	w.wrote[key.String()] = slices.DeleteFunc(w.wrote[key.String()],
		func(v stconfig.Value) bool { return same(v, value) })
}

// edits sets a leaf to a value that was never there, or to the one that this person always sets.
func (w *world) edits(rt *rapid.T) {
	key := rapid.SampledFrom([]string{"options.maxSendKbps", "options.maxRecvKbps", "folders.new.rescanIntervalS",
		"folders.new.label",
		"folders.photos-x4kd.rescanIntervalS", "folders.photos-x4kd.label", "folders.photos-x4kd.versioning.params.keep",
		"devices." + nora + ".name", "devices." + nora + ".maxSendKbps"}).Draw(rt, "key")
	w.values++
	value := stconfig.Literal(fmt.Sprint(1000 + w.values))
	if rapid.Bool().Draw(rt, "usual") {
		value = stconfig.Literal("4711")
	}
	if !strings.HasSuffix(key, "Kbps") && !strings.HasSuffix(key, "IntervalS") {
		value = stconfig.Text(value.Str())
	}
	w.personSets(keyOf(w.t, key), value)
}

// pauses pauses a folder, or lets it go on.
func (w *world) pauses(rt *rapid.T) {
	key := keyOf(w.t, rapid.SampledFrom([]string{"folders.new.paused", "folders.photos-x4kd.paused"}).Draw(rt, "folder"))
	w.personSets(key, stconfig.Boolean(!stconfig.Lookup(w.observed, key).IsTrue()))
}

// movesMember takes a folder or device away, or makes it by hand.
func (w *world) movesMember(rt *rapid.T) {
	w.values++
	name := stconfig.Text(fmt.Sprint("by hand ", w.values))
	switch rapid.SampledFrom([]string{"new", "photos-x4kd", "docs-7hq2", "nora"}).Draw(rt, "member") {
	case "new":
		w.moves("folders.new", w.folderByHand("new", name))
	case "photos-x4kd":
		w.moves("folders.photos-x4kd", w.folderByHand("photos-x4kd", name))
	case "docs-7hq2":
		w.moves("folders.docs-7hq2", w.folderByHand("docs-7hq2", name))
	case "nora":
		device := w.observed.Get("defaults").Get("device").With("deviceID", stconfig.Text(nora)).With("name", name)
		w.moves("devices."+nora, device)
	}
}

func (w *world) folderByHand(id string, label stconfig.Value) stconfig.Value {
	return w.observed.Get("defaults").Get("folder").With("id", stconfig.Text(id)).With("path",
		stconfig.Text("/hand/"+id)).
		With("label", label).With("devices", stconfig.List(share(string(w.own), "")))
}

func share(id, introducer string) stconfig.Value {
	return stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(id)},
		stconfig.Member{Name: "introducedBy", Value: stconfig.Text(introducer)},
		stconfig.Member{Name: "encryptionPassword", Value: stconfig.Text("")})
}

func (w *world) moves(key string, value stconfig.Value) {
	k := keyOf(w.t, key)
	if stconfig.Lookup(w.observed, k).Exists() {
		value = stconfig.Value{}
	}
	w.personSets(k, value)
}

// movesShare shares a folder with a device that is there, or no longer.
func (w *world) movesShare(rt *rapid.T) {
	folder := rapid.SampledFrom([]string{"new", "photos-x4kd", "docs-7hq2"}).Draw(rt, "folder")
	id := rapid.SampledFrom([]string{nora, storage}).Draw(rt, "device")
	if !stconfig.Lookup(w.observed, keyOf(w.t, "devices."+id)).Exists() {
		return
	}
	if stconfig.Lookup(w.observed, keyOf(w.t, "devices."+id+".untrusted")).IsTrue() {
		return // the daemon does not take it
	}
	w.moves("folders."+folder+".devices."+id, share(id, ""))
}

// introduces has an introducer add a device, or share a folder with it.
func (w *world) introduces(rt *rapid.T) {
	id := rapid.SampledFrom([]string{nora, otto}).Draw(rt, "device")
	key := keyOf(w.t, "devices."+id)
	if !stconfig.Lookup(w.observed, key).Exists() {
		device := w.observed.Get("defaults").Get("device").With("deviceID", stconfig.Text(id)).With("introducedBy",
			stconfig.Text(storage))
		w.othersSet(key, device)
	}
	folder := rapid.SampledFrom([]string{"new", "photos-x4kd"}).Draw(rt, "folder")
	if place := keyOf(w.t, "folders."+folder+".devices."+id); !stconfig.Lookup(w.observed, place).Exists() {
		w.othersSet(place, share(id, storage))
	}
}

// ignores has a person ignore a device that is not there, or a folder that is not shared with a device, or no longer.
func (w *world) ignores(rt *rapid.T) {
	w.values++
	label := stconfig.Text(fmt.Sprint("ignored ", w.values))
	since := stconfig.Member{Name: "time", Value: stconfig.Text("2021-01-01T00:00:00Z")}
	if rapid.Bool().Draw(rt, "a device") {
		id := rapid.SampledFrom([]string{nora, otto}).Draw(rt, "device")
		if !stconfig.Lookup(w.observed, keyOf(w.t, "devices."+id)).Exists() {
			w.moves(ignoredDevice(id).String(), stconfig.Obj(since,
				stconfig.Member{Name: "deviceID", Value: stconfig.Text(id)}, stconfig.Member{Name: "name", Value: label},
				stconfig.Member{Name: "address", Value: stconfig.Text("")}))
		}
		return
	}
	folder := rapid.SampledFrom([]string{"new", "photos-x4kd"}).Draw(rt, "folder")
	if !stconfig.Lookup(w.observed, keyOf(w.t, "folders."+folder+".devices."+storage)).Exists() {
		w.moves("devices."+storage+".ignoredFolders."+folder, stconfig.Obj(since,
			stconfig.Member{Name: "id", Value: stconfig.Text(folder)}, stconfig.Member{Name: "label", Value: label}))
	}
}

// putsBack sends a whole document that was there before: the newest, or any.
func (w *world) putsBack(rt *rapid.T) {
	if len(w.history) == 0 {
		return
	}
	old := w.history[rapid.IntRange(0, len(w.history)-1).Draw(rt, "document")]
	if !old.Get("version").Equal(w.observed.Get("version")) {
		return
	}
	// All comes at once: the shares in it are of the mark in it.
	shared := func(c stconfig.Change) int {
		switch {
		case !c.Key.Equal(keyOf(w.t, storageMark)):
			return 1
		case c.To.IsTrue():
			return 2
		}
		return 0
	}
	changes := stconfig.Diff(w.observed, old)
	slices.SortStableFunc(changes, func(a, b stconfig.Change) int { return shared(a) - shared(b) })
	for _, c := range changes {
		w.personSets(c.Key, c.To)
	}
}

// upgrades gives the document another version: a field comes, another goes.
func (w *world) upgrades(*rapid.T) {
	if w.observed.Get("version").Str() == "99" {
		return
	}
	w.startsAnew()
	w.observed, w.alone = upgraded(w.observed), upgraded(w.alone)
	for _, c := range stconfig.Diff(w.alone, w.observed) { // what the daemon adds to a member of Muster's is no person's
		if added := c.Key.Child("group"); c.Key.NamesMember() && stconfig.Lookup(w.observed, added).Exists() {
			w.wrote[added.String()] = append(w.wrote[added.String()], stconfig.Text(""))
		}
	}
	for key := range w.inside {
		if k := keyOf(w.t, key); k.NamesMember() {
			w.inside[key] = upgradedMember(w.inside[key])
		}
	}
}

func upgraded(doc stconfig.Value) stconfig.Value {
	doc = doc.With("version", stconfig.Literal("99"))
	for _, list := range []string{"folders", "devices"} {
		var members []stconfig.Value
		for member := range doc.Get(list).Values() {
			members = append(members, upgradedMember(member))
		}
		doc = doc.With(list, stconfig.List(members...))
	}
	defaults := doc.Get("defaults")
	defaults = defaults.With("folder", upgradedMember(defaults.Get("folder"))).With("device",
		upgradedMember(defaults.Get("device")))
	return doc.With("defaults", defaults)
}

func upgradedMember(v stconfig.Value) stconfig.Value {
	if !v.Get("paused").Exists() {
		return v
	}
	return v.With("group", stconfig.Text("")).Without("numConnections").Without("weakHashThresholdPct")
}

// startsAnew ends a run of the daemon and begins the next one.
func (w *world) startsAnew() {
	w.runs++
	w.run = fmt.Sprint("run ", w.runs)
}

// losesWrites has the daemon take some changes of the next plan and not say so, and lose others. What it did not save
// it loses with its next start, after Muster has read it or before.
func (w *world) losesWrites(rt *rapid.T) {
	w.changesTemplate(rt)
	r, p := w.planned(rt)
	var sent []desired.Sent
	for _, c := range p.Sendable() {
		sent = append(sent, desired.Sent{Key: c.Key, To: c.Sending()})
	}
	before, took := w.observed, maps.Clone(w.took)
	w.entries = r.Begin(sent)
	for _, c := range p.Sendable() {
		if rapid.Bool().Draw(rt, "arrives") {
			w.musterSets(c.Key, c.Sending())
		}
	}
	w.tidy()
	w.unignore()
	if rapid.Bool().Draw(rt, "is read back") {
		var err error
		read := desired.Reading{Document: w.observed, Own: w.own, Run: w.run}
		if w.entries, err = desired.Finish(w.entries, read); err != nil {
			rt.Fatal(err)
		}
	}
	if rapid.Bool().Draw(rt, "starts anew") {
		w.startsAnew()
		if rapid.Bool().Draw(rt, "did not save") {
			w.observed, w.took = before, took
		}
	}
}

// personSets is a change by a person; Absent takes away.
func (w *world) personSets(key stconfig.Key, value stconfig.Value) { w.othersSet(key, value) }

// othersSet is a change by anybody but Muster: what the model knows of ownership.
func (w *world) othersSet(key stconfig.Key, value stconfig.Value) {
	now := stconfig.Lookup(w.observed, key)
	if !stconfig.Lookup(w.observed, key.Parent()).Exists() || same(now, value) {
		return
	}
	w.observed = stconfig.Replace(w.observed, key, value)
	w.cameBack(key, value)
	theirs := stconfig.Lookup(w.alone, key.Parent()).Exists()
	if key.NamesMember() && !stconfig.Lookup(w.alone, key).Exists() && !w.isMusters(key, value) {
		w.newOwner(key, value)
	}
	switch {
	case theirs && !value.Exists() && !now.Exists():
	case w.undoes(key, value):
		delete(w.inside, key.String())
	case w.isMusters(key, value): // put back: it is as if nobody had
		if key.NamesMember() {
			w.putBackWith(key, value)
		}
	case theirs && value.Exists() && stconfig.Lookup(w.alone, key).Exists(): // Muster had it taken away
		for _, c := range stconfig.DiffAt(key, stconfig.Lookup(w.alone, key), value) {
			if !w.isMusters(c.Key, c.To) && (c.To.Exists() || !w.took[c.Key.String()]) {
				w.alone = stconfig.Replace(w.alone, c.Key, c.To)
			}
		}
	case theirs:
		w.alone = stconfig.Replace(w.alone, key, value)
	default:
		w.inside[key.String()] = value
	}
	if !value.Exists() && key.NamesMember() {
		w.forget(key)
		if key.Len() == 2 && key.At(0).Name == "devices" {
			w.unshare(key.At(1).Name)
		}
	}
	if value.Exists() {
		w.observed, w.alone = unignored(w.observed, key), unignored(w.alone, key)
	}
	w.tidy()
}

func isShare(key stconfig.Key) bool { return key.Len() == 4 && key.At(2).Name == "devices" }

// unignored is a document after a device or a share was added: a daemon ignores no device that it has, and no folder of
// a device that it is shared with.
func unignored(doc stconfig.Value, member stconfig.Key) stconfig.Value {
	devices := stconfig.Key{}.Child("devices")
	switch {
	case isShare(member):
		device := devices.Child(member.At(3).Name)
		return stconfig.Replace(doc, device.Child("ignoredFolders").Child(member.At(1).Name), stconfig.Value{})
	case member.Len() == 2 && member.HasPrefix(devices):
		return stconfig.Replace(doc, ignoredDevice(member.At(1).Name), stconfig.Value{})
	}
	return doc
}

func ignoredDevice(id string) stconfig.Key {
	return stconfig.Key{}.Child("remoteIgnoredDevices").Child(id)
}

// unignore does what daemons do after a write: no device is both there and ignored, and no folder both shared and
// ignored. A person's entry comes back with the end of a device or share of Muster's, not with that of their own.
func (w *world) unignore() {
	for _, member := range devicesAndShares(w.observed) {
		w.observed = unignored(w.observed, member)
		if stconfig.Lookup(w.alone, member).Exists() {
			w.alone = unignored(w.alone, member)
		}
	}
}

func devicesAndShares(doc stconfig.Value) (members []stconfig.Key) {
	for device := range doc.Get("devices").Values() {
		members = append(members, stconfig.Key{}.Child("devices").Child(device.Get("deviceID").Str()))
	}
	for folder := range doc.Get("folders").Values() {
		shares := stconfig.Key{}.Child("folders").Child(folder.Get("id").Str()).Child("devices")
		for share := range folder.Get("devices").Values() {
			members = append(members, shares.Child(share.Get("deviceID").Str()))
		}
	}
	return members
}

// cameBack forgets that Muster took away what is there again: who takes it away then means it.
func (w *world) cameBack(key stconfig.Key, value stconfig.Value) {
	for text := range w.took {
		if at := keyOf(w.t, text); at.HasPrefix(key) && value.Exists() && stconfig.LookupAt(key, value, at).Exists() {
			delete(w.took, text)
		}
	}
}

// undoes tells whether a person takes back what they set in a member that Muster made.
func (w *world) undoes(key stconfig.Key, value stconfig.Value) bool {
	_, set := w.inside[key.String()]
	wrote := w.wrote[key.String()]
	return set && len(wrote) > 0 && same(wrote[len(wrote)-1], value)
}

// isMusters tells whether a value is one that Muster wrote at the key, where it may still do so.
func (w *world) isMusters(key stconfig.Key, value stconfig.Value) bool {
	if !value.Exists() {
		return false
	}
	if same(stconfig.Lookup(w.alone, key), value) {
		return false
	}
	introduced := value.Get("introducedBy").Str() != ""
	if introduced && key.Len() == 2 && w.onlyImplied && !stconfig.Lookup(w.alone, key).Exists() {
		return false // nobody revoked it
	}
	if key.NamesMember() && introduced && (len(w.wrote[key.String()]) > 0 || stconfig.Lookup(w.alone, key).Exists()) {
		return true // templates revoked it
	}
	all := true
	stconfig.Leaves(key, value, func(at stconfig.Key, leaf stconfig.Value) {
		note := !at.Equal(key) && at.At(at.Len()-1).Name == "introducedBy"
		wrote := slices.ContainsFunc(w.wrote[at.String()], func(v stconfig.Value) bool { return same(v, leaf) })
		all = all && (note || wrote || key.NamesMember() && w.heldAt(at, leaf))
	})
	return all
}

func same(a, b stconfig.Value) bool { return a.Exists() == b.Exists() && (!a.Exists() || a.Equal(b)) }

// forget drops what the model knows of what lay in a member that is gone.
func (w *world) forget(member stconfig.Key) {
	for key := range w.inside {
		if keyOf(w.t, key).HasPrefix(member) {
			delete(w.inside, key)
		}
	}
}

// forgetBelow forgets what was set inside a member. The member itself may be set there: a share that an introducer or
// a person added comes back when Muster does not ask for its absence any more.
func (w *world) forgetBelow(member stconfig.Key) {
	for key := range w.inside {
		if at := keyOf(w.t, key); at.HasPrefix(member) && !at.Equal(member) {
			delete(w.inside, key)
		}
	}
}

func (w *world) forgetWrites(member stconfig.Key) {
	for key := range w.wrote {
		if keyOf(w.t, key).HasPrefix(member) {
			delete(w.wrote, key)
		}
	}
	w.forgetHeld(member)
}

// newOwner forgets what Muster wrote in a member that a person makes anew. One that a person takes away is Muster's
// again when a template makes it anew with the next plan; only otherwise its writes are forgotten.
func (w *world) newOwner(member stconfig.Key, value stconfig.Value) {
	if value.Exists() {
		w.forgetWrites(member)
		return
	}
	w.gone = append(w.gone, member)
}

// forgetGone forgets the writes in members that people took away and that no template made anew. One that a template
// asks for, and that a daemon would not keep next to a share, is waited for.
func (w *world) forgetGone() {
	w.gone = slices.DeleteFunc(w.gone, func(member stconfig.Key) bool {
		there := stconfig.Lookup(w.observed, member).Exists()
		if !there && w.waitsForAnother(member) {
			return false
		}
		if !there {
			w.forgetWrites(member)
		}
		return true
	})
}

// waitsForAnother tells a folder that a template has a device ignore once it is not shared any more, and a device that
// one ignores once it is not there any more.
func (w *world) waitsForAnother(member stconfig.Key) bool {
	applies := func(id int64) bool {
		return slices.ContainsFunc(w.templates, func(t fleet.Template) bool { return t.ID == id })
	}
	return member.Equal(ignoredDevice(nora)) && applies(15) ||
		member.Len() == 4 && member.At(2).Name == "ignoredFolders" && applies(16)
}

// unshare does what daemons do when a device goes, in the folders, too, that Muster took away.
func (w *world) unshare(id string) {
	there := slices.Concat(slices.Collect(w.observed.Get("folders").Values()),
		slices.Collect(w.alone.Get("folders").Values()))
	for _, folder := range there {
		key := stconfig.Key{}.Child("folders").Child(folder.Get("id").Str()).Child("devices").Child(id)
		w.observed = stconfig.Replace(w.observed, key, stconfig.Value{})
		w.alone = stconfig.Replace(w.alone, key, stconfig.Value{})
		w.forget(key)
	}
}

// tidy drops shares with devices that are not there, or not trusted.
func (w *world) tidy() {
	w.observed = unshared(w.observed, func(device stconfig.Value) bool {
		return !device.Exists() || device.Get("untrusted").IsTrue()
	})
}

// unshared is a document without the shares with such devices.
func unshared(doc stconfig.Value, with func(device stconfig.Value) bool) stconfig.Value {
	for _, member := range devicesAndShares(doc) {
		if isShare(member) && with(stconfig.Lookup(doc, stconfig.Key{}.Child("devices").Child(member.At(3).Name))) {
			doc = stconfig.Replace(doc, member, stconfig.Value{})
		}
	}
	return doc
}

// musterSets is a write of Muster's that arrives.
func (w *world) musterSets(key stconfig.Key, value stconfig.Value) {
	_, inside := w.inside[key.String()]
	theirs := inside || stconfig.Lookup(w.alone, key).Exists()
	if key.NamesMember() && !value.Exists() && !theirs { // as it was when it went
		for text, set := range w.inside {
			if at := keyOf(w.t, text); at.HasPrefix(key) && same(stconfig.Lookup(w.observed, at), set) {
				w.held[text] = set
			}
		}
		stconfig.Leaves(key, stconfig.Lookup(w.observed, key), func(at stconfig.Key, leaf stconfig.Value) {
			note := at.At(at.Len()-1).Name == "introducedBy" // Muster never wrote it.
			if !note && !w.heldAt(at, leaf) {
				w.wrote[at.String()] = append(w.wrote[at.String()], leaf)
			}
		})
	}
	w.observed = stconfig.Replace(w.observed, key, value)
	if w.took[key.String()] = !value.Exists(); !value.Exists() {
		if key.NamesMember() {
			w.forgetBelow(key)
		}
		w.tookShares(key)
		return
	}
	if key.Equal(keyOf(w.t, storageMark)) && value.IsTrue() {
		w.tookShares(key.Parent())
	}
	if key.NamesMember() && !stconfig.Lookup(w.alone, key).Exists() {
		w.forgetHeld(key)
		w.wrote[key.String()] = append(w.wrote[key.String()], value)
	}
	stconfig.Leaves(key, value, func(at stconfig.Key, leaf stconfig.Value) {
		if same(stconfig.Lookup(w.alone, at), leaf) {
			return // it is put back
		}
		w.wrote[at.String()] = append(w.wrote[at.String()], leaf)
	})
}

// heldAt tells whether others had set this value in a member that Muster took away.
func (w *world) heldAt(at stconfig.Key, leaf stconfig.Value) bool {
	for text, set := range w.held {
		if key := keyOf(w.t, text); at.HasPrefix(key) && same(stconfig.LookupAt(key, set, at), leaf) {
			return true
		}
	}
	return false
}

func (w *world) forgetHeld(member stconfig.Key) {
	maps.DeleteFunc(w.held, func(at string, _ stconfig.Value) bool { return keyOf(w.t, at).HasPrefix(member) })
}

// putBackWith has others own again what they had set in a member that is put back.
func (w *world) putBackWith(member stconfig.Key, value stconfig.Value) {
	for text, set := range w.held {
		if at := keyOf(w.t, text); at.HasPrefix(member) && same(stconfig.LookupAt(member, value, at), set) {
			w.inside[text] = set
		}
	}
	w.forgetHeld(member)
}

// tookShares notes that the shares with a device went with it, whether their removal arrived or not.
func (w *world) tookShares(device stconfig.Key) {
	if device.Len() != 2 || device.At(0).Name != "devices" {
		return
	}
	for folder := range w.observed.Get("folders").Values() {
		share := stconfig.Key{}.Child("folders").Child(folder.Get("id").Str()).Child("devices").Child(device.At(1).Name)
		if stconfig.Lookup(w.observed, share).Exists() {
			w.took[share.String()] = true
		}
	}
}

func (w *world) planned(rt *rapid.T) (desired.Result, plan.Plan) {
	w.consent = func(plan.Change) bool { return true }
	r, p, err := w.plan(w.templates)
	if err != nil {
		rt.Fatal(err)
	}
	return r, p
}

// bring does what the engine does until nothing is left, with consent to all that is asked.
func (w *world) bring(rt *rapid.T) {
	for range 5 {
		r, p := w.planned(rt)
		if len(p.Sendable()) == 0 {
			w.entries = r.Entries
			w.forgetGone()
			if stconfig.Lookup(w.observed, keyOf(w.t, "devices."+nora)).Exists() {
				w.onlyImplied = !slices.ContainsFunc(w.templates, func(t fleet.Template) bool { return t.ID == 7 })
			}
			return
		}
		var sent []desired.Sent
		var keys []stconfig.Key
		for _, c := range p.Sendable() {
			sent, keys = append(sent, desired.Sent{Key: c.Key, To: c.Sending(),
				Consented: c.Class == plan.Held}), append(keys, c.Key)
			w.musterSets(c.Key, c.Sending())
		}
		w.tidy()
		w.unignore()
		var err error
		read := desired.Reading{Document: w.observed, Own: w.own, Acknowledged: keys, Run: w.run, Saved: true}
		if w.entries, err = desired.Finish(r.Begin(sent), read); err != nil {
			rt.Fatal(err)
		}
	}
	_, p := w.planned(rt)
	rt.Fatalf("it does not come to rest: %v", p.Sendable()[0].Key)
}

// asModelled compares the daemon with the fold over what people alone would have.
func (w *world) asModelled(rt *rapid.T) {
	model := *w.scene
	model.observed = unshared(w.alone, func(device stconfig.Value) bool { return device.Get("untrusted").IsTrue() })
	model.entries = nil
	r, _, err := model.plan(append(slices.Clone(w.templates), w.shares()...))
	if err != nil {
		rt.Fatal(err)
	}
	want := r.Desired
	for text, value := range w.inside {
		key := keyOf(w.t, text)
		switch {
		case stconfig.Lookup(w.alone, key.Parent()).Exists():
		case !w.named(text):
			want = w.mended(stconfig.Replace(want, key, value), key)
		case stconfig.Lookup(want, key).Exists() && value.Get("introducedBy").Exists():
			want = stconfig.Replace(want, key.Child("introducedBy"), value.Get("introducedBy"))
		}
	}
	for _, c := range stconfig.Diff(want, w.observed) {
		rt.Errorf("%s is %s, want %s", c.Key, shown(c.To), shown(c.From))
	}
}

// shares are, as templates, the shares that people and introducers made in the folder that Muster made: a device is
// brought along for these, too.
func (w *world) shares() []fleet.Template {
	const list = "folders.new.devices"
	place := list + "." + nora
	if !w.inside[place].Exists() || w.named(place) {
		return nil
	}
	return []fleet.Template{{ID: 100, Priority: 100, Op: fleet.OpMerge, Key: list, Text: `[{"deviceID": "` + nora + `"}]`}}
}

// mended does what daemons do about a share that a person added: an untrusted device gets none in clear, and no folder
// is both shared and ignored.
func (w *world) mended(doc stconfig.Value, key stconfig.Key) stconfig.Value {
	if !isShare(key) || !stconfig.Lookup(doc, key).Exists() {
		return doc
	}
	device := stconfig.Key{}.Child("devices").Child(key.At(3).Name)
	if stconfig.Lookup(doc, device.Child("untrusted")).IsTrue() {
		return stconfig.Replace(doc, key, stconfig.Value{})
	}
	return unignored(doc, key)
}

// named tells whether a template of the pool that applies says something of a place.
func (w *world) named(key string) bool {
	for _, t := range w.templates {
		switch {
		case (t.ID == 4 || t.ID == 20) && key == "folders.new.path",
			t.ID == 5 && key == "folders.new.rescanIntervalS", t.ID == 6 && key == "folders.new.label",
			t.ID == 7 && key == "devices."+nora+".compression", t.ID == 18 && key == "folders.new.paused", t.ID == 4 &&
				key == "folders.new.devices."+nora,
			t.ID == 17 && key == "folders.new.devices."+storage, (t.ID == 8 || t.ID == 19) &&
				key == "folders.new.devices."+nora:
			return true
		}
	}
	return false
}

func keyOf(t *testing.T, text string) stconfig.Key {
	key, err := stconfig.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
