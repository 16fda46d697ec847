package store

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"muster/internal/fleet"
)

// reference is the small model: what the registry should be, kept in the plainest way.
type reference struct {
	devices      map[fleet.DeviceID]fleet.Device
	settings     map[fleet.DeviceID]fleet.DeviceSettings
	templates    map[int64]fleet.Template
	deviceTags   map[fleet.DeviceID]map[fleet.Tag]bool
	templateTags map[int64]map[fleet.Tag]bool
	mode         fleet.Mode
	tagModes     map[fleet.Tag]fleet.Mode
	roots        map[fleet.Tag][]string
	authorKeys   map[fleet.Tag][]string
	protected    map[fleet.Tag]bool
	rules        int64 // how often one was protected, or no longer
	generation   int64
	lastID       int64
}

func newReference() *reference {
	return &reference{
		devices: map[fleet.DeviceID]fleet.Device{}, settings: map[fleet.DeviceID]fleet.DeviceSettings{},
		templates:  map[int64]fleet.Template{},
		deviceTags: map[fleet.DeviceID]map[fleet.Tag]bool{}, templateTags: map[int64]map[fleet.Tag]bool{},
		mode: fleet.ModeOn, tagModes: map[fleet.Tag]fleet.Mode{}, roots: map[fleet.Tag][]string{},
		authorKeys: map[fleet.Tag][]string{},
		protected:  map[fleet.Tag]bool{},
	}
}

func (r *reference) registry() *fleet.Registry {
	sorted := func(set map[fleet.Tag]bool) []fleet.Tag {
		return append([]fleet.Tag{}, slices.Sorted(maps.Keys(set))...)
	}
	want := &fleet.Registry{
		Origins:    map[int64]fleet.Origin{},
		Sources:    map[string]fleet.Source{},
		Generation: r.generation,
		Mode:       r.mode,
		TagModes:   maps.Clone(r.tagModes),
		TagQuiet:   map[fleet.Tag]time.Duration{},
		Roots:      maps.Clone(r.roots),
		AuthorKeys: maps.Clone(r.authorKeys),
		Protected:  maps.Clone(r.protected),
		Rules:      r.rules,
		Devices:    map[fleet.DeviceID]*fleet.Registered{},
		Templates:  []fleet.TaggedTemplate{},
	}
	for id, d := range r.devices {
		want.Devices[id] = &fleet.Registered{Device: d, Tags: sorted(r.deviceTags[id]), Settings: r.settings[id]}
	}
	for id, v := range r.templates {
		want.Templates = append(want.Templates, fleet.TaggedTemplate{Template: v, Tags: sorted(r.templateTags[id])})
	}
	slices.SortFunc(want.Templates,
		func(a, b fleet.TaggedTemplate) int { return fleet.CompareTemplates(a.Template, b.Template) })
	return want
}

// The registry in memory is at every moment what the reference says and what a fresh read of the database gives, and
// every past generation can be had again.
func TestRegistryIsWhatTheDatabaseHolds(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		rapid.Check(t, func(rt *rapid.T) {
			run := &registryRun{store: s, ctx: as(t, fleet.RoleAdmin), want: newReference(), past: map[int64]*fleet.Registry{}}
			run.wipe(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"put device": run.putDevice, "delete device": run.deleteDevice, "settings": run.putSettings,
				"create template": run.createTemplate, "put template": run.putTemplate, "delete template": run.deleteTemplate,
				"tag device": run.tagDevice, "tag template": run.tagTemplate, "delete tag": run.deleteTag, "mode": run.putMode,
				"roots": run.putRoots, "author keys": run.putAuthorKeys, "protect": run.protect,
				"": run.compare,
			})
			run.compareHistory(rt)
		})
	})
}

type registryRun struct {
	store *Store
	ctx   context.Context
	want  *reference
	past  map[int64]*fleet.Registry
}

// wipe empties the store through its own methods: opening a new one for every case would take too long.
func (r *registryRun) wipe(t *rapid.T) {
	registry := r.registry(t)
	for id := range registry.Devices {
		r.ok(t, r.store.DeleteDevice(r.ctx, id, nil))
	}
	for _, v := range registry.Templates {
		r.ok(t, r.store.DeleteTemplate(r.ctx, v.ID, nil))
	}
	for tag := range registry.TagModes {
		r.ok(t, stored(r.store, r.store.PutTagMode(r.ctx, tag, fleet.ModeOn)))
	}
	r.ok(t, stored(r.store, r.store.PutFleetMode(r.ctx, fleet.ModeOn)))
	for tag := range registry.Roots {
		_, err := r.store.PutFolderRoots(r.ctx, tag, nil, nil)
		r.ok(t, err)
	}
	for tag := range registry.AuthorKeys {
		_, err := r.store.PutAuthorKeys(r.ctx, tag, nil, nil)
		r.ok(t, err)
	}
	for tag := range registry.Protected {
		r.ok(t, r.store.ProtectTag(r.ctx, tag, false))
	}
	r.want.generation, r.want.rules = r.registry(t).Generation, r.registry(t).Rules
}

func (r *registryRun) ok(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *registryRun) registry(t *rapid.T) *fleet.Registry {
	registry, err := r.store.Registry(r.ctx)
	r.ok(t, err)
	return registry
}

// compare leaves out the marks of the past, of which every step would read more. compareHistory reads them.
func (r *registryRun) compare(t *rapid.T) {
	got := r.compareWith(t, slices.DeleteFunc(slices.Clone(markedTables), isPast))
	r.past[got.Generation] = got
}

func isPast(table *markedTable) bool {
	return table == generationRows || strings.HasSuffix(table.name, "_history")
}

func (r *registryRun) compareWith(t *rapid.T, marked []*markedTable) (got *fleet.Registry) {
	got = r.registry(t)
	if want := r.want.registry(); !reflect.DeepEqual(got, want) {
		t.Fatalf("the registry is\n%+v, want\n%+v", got, want)
	}
	fresh, err := r.store.loadBy(r.ctx, pool{r.store.reads}, marked)
	r.ok(t, err)
	if read := newView(fresh).registry; !reflect.DeepEqual(got, read) {
		t.Fatalf("the registry is\n%+v, a fresh read gives\n%+v", got, read)
	}
	return got
}

// compareHistory looks at templates and tags: the rest of a past registry is that of today.
func (r *registryRun) compareHistory(t *rapid.T) {
	now := r.compareWith(t, markedTables)
	for generation, then := range r.past {
		got, err := r.store.RegistryAt(r.ctx, generation)
		r.ok(t, err)
		// What was put as it was makes no generation, so its updatedAt is not in the history.
		if !slices.EqualFunc(got.Templates, then.Templates, func(a, b fleet.TaggedTemplate) bool {
			return sameTemplate(a.Template, b.Template) && slices.Equal(a.Tags, b.Tags)
		}) {
			t.Fatalf("generation %d had templates\n%+v, but history says\n%+v", generation, then.Templates, got.Templates)
		}
		for id, d := range got.Devices {
			was := then.Devices[id]
			if was == nil || was.CreatedAt != now.Devices[id].CreatedAt {
				continue // registered since
			}
			if !slices.Equal(d.Tags, was.Tags) {
				t.Fatalf("in generation %d device %s had tags %v, but history says %v", generation, id, was.Tags, d.Tags)
			}
		}
	}
}

var someTags = []fleet.Tag{"a", "B", "ä/ %"}

func (r *registryRun) anyDevice(t *rapid.T) fleet.DeviceID {
	return deviceN(rapid.IntRange(1, 3).Draw(t, "device")).ID
}

func (r *registryRun) anyTemplate(t *rapid.T) int64 {
	ids := slices.Sorted(maps.Keys(r.want.templates))
	return rapid.SampledFrom(append(ids, r.want.lastID+1)).Draw(t, "template")
}

func (r *registryRun) putDevice(t *rapid.T) {
	d := deviceN(rapid.IntRange(1, 3).Draw(t, "device"))
	d.Label = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "label")
	stored, created, err := r.store.PutDevice(r.ctx, d, nil)
	r.ok(t, err)
	if _, was := r.want.devices[d.ID]; was == created {
		t.Fatalf("created is %v", created)
	}
	r.want.devices[d.ID] = stored
	if created {
		r.want.settings[d.ID] = fleet.DeviceSettings{Mode: fleet.ModeOn}
		r.want.deviceTags[d.ID] = map[fleet.Tag]bool{}
	}
}

func (r *registryRun) deleteDevice(t *rapid.T) {
	id := r.anyDevice(t)
	err := r.store.DeleteDevice(r.ctx, id, nil)
	r.answered(t, err, r.want.devices[id].ID != "")
	if len(r.want.deviceTags[id]) > 0 {
		r.want.generation++
	}
	delete(r.want.devices, id)
	delete(r.want.settings, id)
	delete(r.want.deviceTags, id)
}

// answered checks that what is there was changed, and what is not is not_found.
func (r *registryRun) answered(t *rapid.T, err error, there bool) {
	t.Helper()
	want := fleet.CodeNotFound
	if there {
		want = ""
	}
	if got := fleet.CodeOf(err); got != want {
		t.Fatalf("got %v, want code %q", err, want)
	}
}

func (r *registryRun) putSettings(t *rapid.T) {
	id := r.anyDevice(t)
	settings := fleet.DeviceSettings{
		Mode:       rapid.SampledFrom([]fleet.Mode{fleet.ModeOn, fleet.ModeObserve}).Draw(t, "mode"),
		AllowPlain: rapid.Bool().Draw(t, "plain"), Pin: rapid.SampledFrom([]string{"", "sha256:00"}).Draw(t, "pin"),
	}
	_, err := r.store.PutDeviceSettings(r.ctx, id, settings, nil)
	_, there := r.want.devices[id]
	r.answered(t, stored(r.store, err), there)
	if there {
		r.want.settings[id] = settings
	}
}

// someone saves as an admin, an author or without any role.
func (r *registryRun) someone(t *rapid.T) context.Context {
	role := rapid.SampledFrom([]fleet.Role{fleet.RoleAdmin, fleet.RoleAuthor, ""}).Draw(t, "role")
	return fleet.WithRole(fleet.WithActor(r.ctx, "who "+string(role)), role)
}

func (r *registryRun) anyText(t *rapid.T) fleet.Template {
	return fleet.Template{
		Label: "t", Priority: rapid.Int64Range(-1, 1).Draw(t, "priority"), Op: fleet.OpSet,
		Text: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "text"),
	}
}

func (r *registryRun) createTemplate(t *rapid.T) {
	if len(r.want.templates) > 4 {
		return // enough
	}
	who := r.someone(t)
	stored, err := r.store.CreateTemplate(who, r.anyText(t))
	r.ok(t, err)
	if stored.SavedRole != fleet.RoleOf(who) || stored.SavedBy != fleet.ActorOf(who) {
		t.Fatalf("got saver %s, %q", stored.SavedBy, stored.SavedRole)
	}
	if stored.ID <= r.want.lastID {
		t.Fatalf("got ID %d after %d", stored.ID, r.want.lastID)
	}
	r.want.lastID = stored.ID
	r.want.templates[stored.ID] = stored
	r.want.templateTags[stored.ID] = map[fleet.Tag]bool{}
	r.want.generation++
}

func (r *registryRun) putTemplate(t *rapid.T) {
	v := r.anyText(t)
	v.ID = r.anyTemplate(t)
	who := r.someone(t)
	stored, err := r.store.PutTemplate(who, v, nil)
	was, there := r.want.templates[v.ID]
	r.answered(t, err, there)
	if !there {
		return
	}
	saver := was.SavedRole // of whoever wrote the text, not of whoever changed the priority
	if v.Text != was.Text || saver == "" && v.Priority == was.Priority {
		saver = fleet.RoleOf(who)
	}
	if v.Priority != was.Priority || v.Text != was.Text || saver != was.SavedRole {
		r.want.generation++
	}
	if stored.SavedRole != saver {
		t.Fatalf("got the saver's role %q, want %q", stored.SavedRole, saver)
	}
	r.want.templates[v.ID] = stored
}

func (r *registryRun) deleteTemplate(t *rapid.T) {
	id := r.anyTemplate(t)
	err := r.store.DeleteTemplate(r.ctx, id, nil)
	_, there := r.want.templates[id]
	r.answered(t, err, there)
	if there {
		r.want.generation++
	}
	delete(r.want.templates, id)
	delete(r.want.templateTags, id)
}

func (r *registryRun) tagDevice(t *rapid.T) {
	id, tag, on := r.anyDevice(t), rapid.SampledFrom(someTags).Draw(t, "tag"), rapid.Bool().Draw(t, "on")
	change := r.store.UntagDevice
	if on {
		change = r.store.TagDevice
	}
	tags, err := change(r.ctx, id, tag, nil)
	r.tagged(t, r.want.deviceTags[id], tag, on, tags, err)
}

func (r *registryRun) tagTemplate(t *rapid.T) {
	id, tag, on := r.anyTemplate(t), rapid.SampledFrom(someTags).Draw(t, "tag"), rapid.Bool().Draw(t, "on")
	change := r.store.UntagTemplate
	if on {
		change = r.store.TagTemplate
	}
	tags, err := change(r.ctx, id, tag, nil)
	r.tagged(t, r.want.templateTags[id], tag, on, tags, err)
}

func (r *registryRun) tagged(t *rapid.T, set map[fleet.Tag]bool, tag fleet.Tag, on bool, got []fleet.Tag, err error) {
	r.answered(t, err, set != nil)
	if set == nil {
		return
	}
	if set[tag] != on {
		r.want.generation++
	}
	delete(set, tag)
	if on {
		set[tag] = true
	}
	if want := slices.Sorted(maps.Keys(set)); !slices.Equal(got, want) {
		t.Fatalf("got tags %v, want %v", got, want)
	}
}

func (r *registryRun) deleteTag(t *rapid.T) {
	tag := rapid.SampledFrom(someTags).Draw(t, "tag")
	_, err := r.store.DeleteTag(r.ctx, tag, nil)
	there := false
	for _, set := range r.want.deviceTags {
		there = there || set[tag]
		delete(set, tag)
	}
	for _, set := range r.want.templateTags {
		there = there || set[tag]
		delete(set, tag)
	}
	r.answered(t, err, there)
	if there {
		r.want.generation++
	}
}

func (r *registryRun) putRoots(t *rapid.T) {
	tag := rapid.SampledFrom(append(someTags, "")).Draw(t, "tag")
	roots := rapid.SampledFrom([][]string{nil, {"~"}, {"/srv/b", "/srv/a", "/srv/b"}}).Draw(t, "roots")
	stored, err := r.store.PutFolderRoots(r.ctx, tag, roots, nil)
	r.ok(t, err)
	delete(r.want.roots, tag)
	if len(roots) > 0 {
		r.want.roots[tag] = stored
	}
	if len(roots) == 3 && !slices.Equal(stored, []string{"/srv/a", "/srv/b"}) {
		t.Fatalf("got %q", stored)
	}
}

func (r *registryRun) putAuthorKeys(t *rapid.T) {
	tag := rapid.SampledFrom(append(someTags, "")).Draw(t, "tag")
	keys := rapid.SampledFrom([][]string{nil, {"options"}, {"gui.b", "gui.a", "gui.b"}}).Draw(t, "keys")
	stored, err := r.store.PutAuthorKeys(r.ctx, tag, keys, nil)
	r.ok(t, err)
	delete(r.want.authorKeys, tag)
	if len(keys) > 0 {
		r.want.authorKeys[tag] = stored
	}
	if len(keys) == 3 && !slices.Equal(stored, []string{"gui.a", "gui.b"}) {
		t.Fatalf("got %q", stored)
	}
}

func (r *registryRun) protect(t *rapid.T) {
	tag, protected := rapid.SampledFrom(someTags).Draw(t, "tag"), rapid.Bool().Draw(t, "protected")
	r.ok(t, r.store.ProtectTag(r.ctx, tag, protected))
	if r.want.protected[tag] != protected {
		r.want.rules++
	}
	if delete(r.want.protected, tag); protected {
		r.want.protected[tag] = true
	}
}

func (r *registryRun) putMode(t *rapid.T) {
	mode := rapid.SampledFrom([]fleet.Mode{fleet.ModeOn, fleet.ModeObserve, fleet.ModePaused}).Draw(t, "mode")
	if rapid.Bool().Draw(t, "fleet") {
		r.ok(t, stored(r.store, r.store.PutFleetMode(r.ctx, mode)))
		r.want.mode = mode
		return
	}
	tag := rapid.SampledFrom(someTags).Draw(t, "tag")
	r.ok(t, stored(r.store, r.store.PutTagMode(r.ctx, tag, mode)))
	delete(r.want.tagModes, tag)
	if mode != fleet.ModeOn {
		r.want.tagModes[tag] = mode
	}
}
