package store

import (
	"context"
	"maps"
	"slices"
	"sync"

	"muster/internal/fleet"
)

// contents is what people registered, as of one commit. The values it points to never change: a change puts another
// value in their place, so that views can share them.
type contents struct {
	generation int64
	mode       fleet.Mode
	tagModes   map[fleet.Tag]fleet.Mode
	roots      map[fleet.Tag][]string
	protected  map[fleet.Tag]bool
	tagVars    map[fleet.Tag]fleet.SavedVars // replaced as a whole
	restored   *fleet.Restored               // nil: a person resumed since, or nothing was restored
	devices    map[fleet.DeviceID]*fleet.Registered
	templates  map[int64]*fleet.TaggedTemplate
	origins    map[int64]fleet.Origin
	sources    map[string]fleet.Source
}

// device changes one device, if it is there.
func (c *contents) device(id fleet.DeviceID, change func(*fleet.Registered)) {
	if old, ok := c.devices[id]; ok {
		changed := *old
		change(&changed)
		c.devices[id] = &changed
	}
}

// template changes one template, if it is there.
func (c *contents) template(id int64, change func(*fleet.TaggedTemplate)) {
	if old, ok := c.templates[id]; ok {
		changed := *old
		change(&changed)
		c.templates[id] = &changed
	}
}

// model holds the contents and hands out views of them. Thousands of changes in a row cost one view, made when
// somebody asks.
type model struct {
	mu   sync.RWMutex // guards the rest
	now  contents
	view *view // of now and overrides; nil when a change made it stale

	overrides map[fleet.ModeScope]override // in force, not kept yet
	turn      int64
}

// view is one state of the contents for readers, who share it.
type view struct {
	registry *fleet.Registry
}

func (m *model) apply(changes []func(*contents)) {
	if len(changes) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, change := range changes {
		change(&m.now)
	}
	m.view = nil
}

// replace puts fresh contents in place, and says what is different.
func (m *model) replace(fresh contents) fleet.Committed {
	m.mu.Lock()
	defer m.mu.Unlock()
	var changed fleet.Committed
	for _, id := range slices.Concat(slices.Collect(maps.Keys(m.now.devices)), slices.Collect(maps.Keys(fresh.devices))) {
		was, is := m.now.devices[id], fresh.devices[id]
		if was == nil || is == nil || was.Device != is.Device || was.Settings != is.Settings ||
			was.Altered != is.Altered {
			changed.Merge(fleet.Committed{Devices: map[fleet.DeviceID]bool{id: true}})
		}
	}
	changed.Merge(fleet.Committed{Registry: true, Generation: true, Modes: true, Roots: true, Secrets: true})
	m.now, m.view = fresh, nil
	return changed
}

// look reads single things without making a view.
func (m *model) look(read func(*contents)) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	read(&m.now)
}

func (m *model) current() *view {
	m.mu.RLock()
	v := m.view
	m.mu.RUnlock()
	if v != nil {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil {
		m.view = newView(m.now.inForce(m.overrides))
	}
	return m.view
}

func newView(c contents) *view {
	registry := &fleet.Registry{
		Generation: c.generation, Mode: c.mode,
		TagModes: maps.Clone(c.tagModes), Roots: maps.Clone(c.roots), Protected: maps.Clone(c.protected),
		TagVars:  c.tagVars,
		Devices:  maps.Clone(c.devices),
		Restored: c.restored, Origins: c.origins, Sources: c.sources,
		Templates: make([]fleet.TaggedTemplate, 0, len(c.templates)),
	}
	for _, t := range c.templates {
		registry.Templates = append(registry.Templates, *t)
	}
	slices.SortFunc(registry.Templates, func(a, b fleet.TaggedTemplate) int {
		return fleet.CompareTemplates(a.Template, b.Template)
	})
	return &view{registry: registry}
}

// Registry is everything that is registered, as of the last commit. It is shared: callers do not change it.
func (s *Store) Registry(context.Context) (*fleet.Registry, error) {
	return s.model.current().registry, nil
}

// load reads the contents from the database.
func (s *Store) load(ctx context.Context, q querier) (contents, error) {
	c := contents{
		mode: fleet.ModeOn, tagModes: map[fleet.Tag]fleet.Mode{}, roots: map[fleet.Tag][]string{},
		protected: map[fleet.Tag]bool{},
		devices:   map[fleet.DeviceID]*fleet.Registered{}, templates: map[int64]*fleet.TaggedTemplate{},
		origins: map[int64]fleet.Origin{}, sources: map[string]fleet.Source{},
	}
	for _, read := range []func(context.Context, querier, *contents) error{
		s.loadDevices, s.loadTemplates, s.loadTags, s.loadModes, s.loadRoots, s.loadProtected, s.loadGeneration,
		s.loadSources, s.loadVars,
	} {
		if err := read(ctx, q, &c); err != nil {
			return contents{}, err
		}
	}
	return c, nil
}

// addTag inserts into a sorted set; the given slice stays as it is.
func addTag(tags []fleet.Tag, tag fleet.Tag) []fleet.Tag {
	i, found := slices.BinarySearch(tags, tag)
	if found {
		return tags
	}
	return slices.Insert(slices.Clone(tags), i, tag)
}

// dropTag removes from a sorted set; the given slice stays as it is.
func dropTag(tags []fleet.Tag, tag fleet.Tag) []fleet.Tag {
	i, found := slices.BinarySearch(tags, tag)
	if !found {
		return tags
	}
	return append(append(make([]fleet.Tag, 0, len(tags)), tags[:i]...), tags[i+1:]...)
}
