package store

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
)

// contents is everything that people registered, as of one commit. The values that its maps point to never change: a
// write stores a new value in the map, so that views can share the values.
type contents struct {
	generation int64
	mode       fleet.Mode
	tagModes   map[fleet.Tag]fleet.Mode
	tagQuiet   map[fleet.Tag]time.Duration
	roots      map[fleet.Tag][]string
	authorKeys map[fleet.Tag][]string
	protected  map[fleet.Tag]bool
	rules      int64
	tagVars    map[fleet.Tag]fleet.SavedVars // replaced as a whole
	restored   *fleet.Restored               // nil: nothing was restored, or a person has resumed since
	devices    map[fleet.DeviceID]*fleet.Registered
	templates  map[int64]*fleet.TaggedTemplate
	origins    map[int64]fleet.Origin
	sources    map[string]fleet.Source
	// The map is replaced as a whole.
	revocations map[fleet.DeviceID]fleet.Revocation
	settings    fleet.StoredSettings  // its map is replaced as a whole
	sinks       map[string]fleet.Sink // The map has the sinks by name. It is replaced as a whole.
	observed    bool                  // Nothing is written to daemons until an admin accepts what is lost or in doubt.
	doubts      []doubt               // how marked tables differ from what Muster wrote
}

// cloned returns a copy of c. In the copy, the maps of devices, templates, modes, quiet times, folder roots, author
// keys and protected tags can be changed without changing c. c and the copy share the other maps, which are never
// changed but replaced as a whole.
func (c contents) cloned() contents {
	c.devices, c.templates = maps.Clone(c.devices), maps.Clone(c.templates)
	c.tagQuiet, c.authorKeys = maps.Clone(c.tagQuiet), maps.Clone(c.authorKeys)
	c.tagModes, c.roots, c.protected = maps.Clone(c.tagModes), maps.Clone(c.roots), maps.Clone(c.protected)
	return c
}

// device replaces one device by a copy that change has changed. It does nothing if the device is not registered.
func (c *contents) device(id fleet.DeviceID, change func(*fleet.Registered)) {
	if old, ok := c.devices[id]; ok {
		changed := *old
		change(&changed)
		c.devices[id] = &changed
	}
}

// template replaces one template by a copy that change has changed. It does nothing if the template does not exist.
func (c *contents) template(id int64, change func(*fleet.TaggedTemplate)) {
	if old, ok := c.templates[id]; ok {
		changed := *old
		change(&changed)
		c.templates[id] = &changed
	}
}

// model holds the contents and makes views of them. It makes a view only when somebody asks for one, so that thousands
// of changes in a row make a single new view.
type model struct {
	mu   sync.RWMutex // guards the rest
	now  contents
	view *view // view of now with overrides; nil if something changed since

	overrides map[fleet.ModeScope]override // modes that are in force and not stored yet
	turn      int64
}

// view is the contents at one moment, shared by all readers.
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

// replace replaces the contents by fresh. The result names the devices that differ, and says that everything else may
// differ.
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
	changed.Merge(fleet.Committed{Registry: true, Generation: true, Modes: true, Roots: true, Secrets: true,
		Revoked: true, Settings: true})
	m.now, m.view = fresh, nil
	return changed
}

// look calls read with the contents, without making a view. read must neither change the contents nor use them after
// it has returned.
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
		Generation: c.generation,
		Mode:       c.modeInForce(),
		TagModes: maps.Clone(
			c.tagModes,
		),
		TagQuiet:   maps.Clone(c.tagQuiet),
		Roots:      maps.Clone(c.roots),
		AuthorKeys: maps.Clone(c.authorKeys),
		Protected:  maps.Clone(c.protected),
		TagVars:    c.tagVars,
		Devices:    maps.Clone(c.devices),
		Restored:   c.restored,
		Origins:    c.origins,
		Sources:    c.sources,
		Rules:      c.rules,
		Templates:  make([]fleet.TaggedTemplate, 0, len(c.templates)),

		Revocations: c.revocations,
	}
	for _, t := range c.templates {
		registry.Templates = append(registry.Templates, *t)
	}
	slices.SortFunc(registry.Templates, func(a, b fleet.TaggedTemplate) int {
		return fleet.CompareTemplates(a.Template, b.Template)
	})
	return &view{registry: registry}
}

func (c contents) modeInForce() fleet.Mode {
	if c.observed {
		return fleet.Strictest(c.mode, fleet.ModeObserve)
	}
	return c.mode
}

// Registry returns everything that is registered, as of the last commit. Callers share the value and must not change
// it.
func (s *Store) Registry(context.Context) (*fleet.Registry, error) {
	return s.model.current().registry, nil
}

// loadBy reads the contents from the database, and compares the tables in compared with their marks (see
// doubtsAtStart). For all other tables the doubts of the last comparison stay.
func (s *Store) loadBy(ctx context.Context, q querier, compared []*markedTable) (contents, error) {
	c := contents{
		mode:       fleet.ModeOn,
		tagModes:   map[fleet.Tag]fleet.Mode{},
		tagQuiet:   map[fleet.Tag]time.Duration{},
		roots:      map[fleet.Tag][]string{},
		authorKeys: map[fleet.Tag][]string{},
		protected:  map[fleet.Tag]bool{},
		devices:    map[fleet.DeviceID]*fleet.Registered{},
		templates:  map[int64]*fleet.TaggedTemplate{},
		origins:    map[int64]fleet.Origin{},
		sources:    map[string]fleet.Source{},
	}
	for _, read := range []func(context.Context, querier, *contents) error{
		s.loadDevices, s.loadTemplates, s.loadTags, s.loadModes, s.loadRoots, s.loadAuthorKeys, s.loadProtected,
		s.loadGeneration,
		s.loadSources, s.loadVars, s.loadRevocations, s.loadServerSettings,
		s.loadSinks,
	} {
		if err := read(ctx, q, &c); err != nil {
			return contents{}, err
		}
	}
	doubts, err := s.doubtsAtStart(ctx, q, compared)
	if err != nil {
		return contents{}, err
	}
	c.disbelieve(append(doubts, s.doubtsBefore(compared)...))
	c.observed = c.observed || s.loss.now() != nil
	return c, nil
}

// addTag returns a sorted set with a further tag. The given slice is not changed.
func addTag(tags []fleet.Tag, tag fleet.Tag) []fleet.Tag {
	i, found := slices.BinarySearch(tags, tag)
	if found {
		return tags
	}
	return slices.Insert(slices.Clone(tags), i, tag)
}

// dropTag returns a sorted set without a tag. The given slice is not changed.
func dropTag(tags []fleet.Tag, tag fleet.Tag) []fleet.Tag {
	i, found := slices.BinarySearch(tags, tag)
	if !found {
		return tags
	}
	return append(append(make([]fleet.Tag, 0, len(tags)), tags[:i]...), tags[i+1:]...)
}
