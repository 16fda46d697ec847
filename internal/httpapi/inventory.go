package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/health"
)

const (
	maxInventoryParts   = 8  // scopes whose rows are kept
	maxInventoryAnswers = 64 // of one part, for as long as no row changes
)

// Inventory keeps a row for every device, encoded. A row is made again when the device was marked or its record
// changed, and only when a request asks: between two requests, changes of one device cost one row.
type Inventory struct {
	InventoryOptions
	start    string        // of every ETag; another one with each process
	versions atomic.Uint64 // the last one that was given to a part

	mu    sync.Mutex // guards parts and the marks of each part
	parts []*inventoryPart
}

// InventoryOptions say where an Inventory reads.
type InventoryOptions struct {
	Snapshot func(fleet.DeviceID) *fleet.Snapshot // nil: not watched
	State    func(context.Context, fleet.DeviceID) (fleet.State, error)
	// Common gives what the states of all devices depend on besides registry and marks. It is comparable.
	Common func() any
	Mode   fleet.Mode // that the server was started with; blank: on
}

// NewInventory makes an inventory without rows.
func NewInventory(o InventoryOptions) *Inventory {
	return &Inventory{InventoryOptions: o, start: rand.Text()}
}

// DeviceChanged marks a device whose snapshot or state may be another one. It only marks: its callers may hold locks.
func (v *Inventory) DeviceChanged(id fleet.DeviceID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range v.parts {
		p.marked[id] = true
	}
}

// inventoryPart is the rows of the devices in one scope. Texts of its rows name the devices of the scope only.
type inventoryPart struct {
	scope  fleet.Scope
	marked map[fleet.DeviceID]bool // guarded by Inventory.mu

	mu       sync.Mutex // guards what follows
	registry *fleet.Registry
	common   any
	rows     map[fleet.DeviceID]*inventoryRow
	sorted   []fleet.DeviceID // of the rows, by label, then ID; nil: to be sorted
	order    []*inventoryRow  // the rows in that order; nil: one became another one
	version  uint64           // another one, of no part before, when a row becomes another one
	answers  map[string]*inventoryAnswer
	joined   bool // one of the answers is in one text
}

// inventoryRow is immutable.
type inventoryRow struct {
	device *fleet.Registered
	wire   api.InventoryDevice
	text   []byte // wire, encoded
	search string // lower case
}

// part is the one of a scope. The part that was used longest ago goes when there are too many.
func (v *Inventory) part(scope fleet.Scope) *inventoryPart {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(v.parts, func(p *inventoryPart) bool { return p.scope == scope })
	p := &inventoryPart{scope: scope, marked: map[fleet.DeviceID]bool{}}
	if at >= 0 {
		p = v.parts[at]
		v.parts = slices.Delete(v.parts, at, at+1)
	} else if len(v.parts) == maxInventoryParts {
		v.parts = slices.Delete(v.parts, 0, 1)
	}
	v.parts = append(v.parts, p)
	return p
}

// takeMarks are the devices that were marked since the last call; nil: none. The map is the caller's.
func (v *Inventory) takeMarks(p *inventoryPart) map[fleet.DeviceID]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(p.marked) == 0 {
		return nil
	}
	marked := p.marked
	p.marked = map[fleet.DeviceID]bool{}
	return marked
}

// takeMark tells whether a device is marked, and takes its mark.
func (v *Inventory) takeMark(p *inventoryPart, id fleet.DeviceID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	marked := p.marked[id]
	delete(p.marked, id)
	return marked
}

// putBack marks again what was not read.
func (v *Inventory) putBack(p *inventoryPart, marked map[fleet.DeviceID]bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range marked {
		p.marked[id] = true
	}
}

// answer is what a query gives now. registry is the one of the caller's scope.
func (v *Inventory) answer(ctx context.Context, registry *fleet.Registry, q inventoryQuery) (*inventoryAnswer, error) {
	p := v.part(fleet.ScopeIn(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := v.refresh(ctx, p, registry); err != nil {
		return nil, err
	}
	if p.answers[q.text] != nil {
		return p.again(q.text), nil
	}
	made, err := q.answer(p.inOrder())
	if err != nil {
		return nil, err
	}
	made.etag = v.etag(p)
	if len(p.answers) < maxInventoryAnswers {
		p.answers[q.text] = made
	}
	return made, nil
}

// allRows are the rows of the caller's scope now, by label. registry is the one of that scope.
func (v *Inventory) allRows(ctx context.Context, registry *fleet.Registry) ([]*inventoryRow, error) {
	p := v.part(fleet.ScopeIn(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	err := v.refresh(ctx, p, registry)
	return p.inOrder(), err
}

// row is that of one device now; nil for one that is not in the caller's scope. Other devices stay marked: their rows
// are made when they are asked for.
func (v *Inventory) row(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) (*inventoryRow, error) {
	p := v.part(fleet.ScopeIn(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.registry != registry || p.common != v.Common() {
		err := v.refresh(ctx, p, registry)
		return p.rows[id], err
	}
	if !v.takeMark(p, id) {
		return p.rows[id], nil
	}
	one := map[fleet.DeviceID]bool{id: true}
	err := v.remake(ctx, p, registry, one)
	if err != nil {
		v.putBack(p, one)
	}
	return p.rows[id], err
}

// etag names the rows of a part, as they are now. Two scopes that a caller goes through have different ones.
func (v *Inventory) etag(p *inventoryPart) string {
	text, _ := encode([]any{v.start, p.version, p.scope.Tags()}) // plain values: cannot fail
	return etagOf(text)
}

// refresh makes the rows that are not of now. The caller holds p.mu.
func (v *Inventory) refresh(ctx context.Context, p *inventoryPart, registry *fleet.Registry) error {
	marked, common := v.takeMarks(p), v.Common()
	stale := marked
	switch {
	case p.registry == nil || p.common != common || renamed(p.registry, registry) || remoded(p.registry, registry):
		stale = make(map[fleet.DeviceID]bool, len(registry.Devices))
		for id := range registry.Devices {
			stale[id] = true
		}
	case p.registry != registry:
		stale = map[fleet.DeviceID]bool{}
		maps.Copy(stale, marked)
		for id, is := range registry.Devices {
			if !sameRegistered(p.registry.Devices[id], is) {
				stale[id] = true
			}
		}
	}
	if len(stale) == 0 && p.registry == registry {
		return nil
	}
	if err := v.remake(ctx, p, registry, stale); err != nil {
		v.putBack(p, marked)
		return err
	}
	p.common = common
	return nil
}

// remake makes the rows of some devices, all or none. The caller holds p.mu.
func (v *Inventory) remake(
	ctx context.Context, p *inventoryPart, registry *fleet.Registry, stale map[fleet.DeviceID]bool,
) error {
	fresh := make(map[fleet.DeviceID]*inventoryRow, len(stale))
	for id := range stale {
		row, err := v.makeRow(ctx, registry, id, p.rows[id])
		if err != nil {
			return err
		}
		fresh[id] = row
	}
	if p.put(registry, fresh) {
		p.version = v.versions.Add(1)
	}
	return nil
}

// renamed tells whether texts of rows may name a device otherwise, or whether the order is another one.
func renamed(was, is *fleet.Registry) bool {
	if was == is {
		return false
	}
	if len(was.Devices) != len(is.Devices) {
		return true
	}
	for id, device := range is.Devices {
		if before := was.Devices[id]; before != device && (before == nil || before.Label != device.Label) {
			return true
		}
	}
	return false
}

// remoded tells whether the mode of the fleet or of a tag is another one.
func remoded(was, is *fleet.Registry) bool {
	if was == is {
		return false
	}
	if was.Mode != is.Mode || len(was.TagModes) != len(is.TagModes) {
		return true
	}
	for tag, mode := range is.TagModes {
		if was.TagModes[tag] != mode {
			return true
		}
	}
	return false
}

func sameRegistered(was, is *fleet.Registered) bool {
	return was == is || was != nil && was.Device == is.Device && was.Settings == is.Settings &&
		was.Altered == is.Altered && slices.Equal(was.Tags, is.Tags)
}

// put puts rows in the place of older ones, and tells whether any is another one. A nil row is of a device that is
// registered no more. It costs what there is in fresh, unless the registry is another one. The caller holds p.mu.
func (p *inventoryPart) put(registry *fleet.Registry, fresh map[fleet.DeviceID]*inventoryRow) (changed bool) {
	moved := p.rows == nil
	changed = moved
	if p.rows == nil {
		p.rows = map[fleet.DeviceID]*inventoryRow{}
	}
	if p.registry != registry {
		for id := range p.rows {
			if registry.Devices[id] == nil {
				delete(p.rows, id)
				changed, moved = true, true
			}
		}
	}
	for id, row := range fresh {
		was := p.rows[id]
		switch {
		case row == nil || row == was:
			continue
		case was == nil || was.wire.Label != row.wire.Label:
			moved = true
		}
		p.rows[id], changed = row, true
	}
	p.registry = registry
	if moved {
		p.sorted = nil
	}
	if changed {
		p.order, p.answers, p.joined = nil, map[string]*inventoryAnswer{}, false
	}
	return changed
}

// inOrder are the rows by label, then ID. Answers of before keep the ones that they have. The caller holds p.mu.
func (p *inventoryPart) inOrder() []*inventoryRow {
	if p.order != nil || p.registry == nil {
		return p.order
	}
	if p.sorted == nil {
		for _, device := range sortedDevices(p.registry) {
			if p.rows[device.ID] != nil {
				p.sorted = append(p.sorted, device.ID)
			}
		}
	}
	p.order = make([]*inventoryRow, len(p.sorted))
	for i, id := range p.sorted {
		p.order[i] = p.rows[id]
	}
	return p.order
}

// makeRow is the row of a device now: the one of before where nothing changed that it shows, nil for one that is not
// there.
func (v *Inventory) makeRow(
	ctx context.Context, registry *fleet.Registry, id fleet.DeviceID, before *inventoryRow,
) (*inventoryRow, error) {
	device := registry.Devices[id]
	if device == nil {
		return nil, nil //nolint:nilnil // not in the scope
	}
	state, err := v.State(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound { // registered, and not watched yet: it is marked then
		state, err = fleet.State{Connection: fleet.NeverSeen, Configuration: fleet.ConfigUnknown}, nil
	}
	if err != nil {
		return nil, err
	}
	wire := wireRow(device, state, v.Snapshot(id))
	wire.Mode = string(fleet.Strictest(orOn(v.Mode), orOn(registry.ModeOf(id))))
	if before != nil && sameRow(before.wire, wire) {
		return before, nil
	}
	text, err := encode(wire)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	search := strings.Join([]string{device.Label, string(id), device.APIAddress, state.Address}, "\n")
	return &inventoryRow{device: device, wire: wire, text: text, search: strings.ToLower(search)}, nil
}

// sameRow tells whether two rows show the same. The daemon of a device that is online is heard of all the time: that
// alone makes no other row.
func sameRow(before, now api.InventoryDevice) bool {
	if sameMoment(before.Since, now.Since) {
		now.Since = before.Since
	}
	online := string(fleet.Online)
	if before.Connection == online && now.Connection == online || sameMoment(before.LastSeen, now.LastSeen) {
		now.LastSeen = before.LastSeen
	}
	return reflect.DeepEqual(before, now)
}

func sameMoment(a, b *api.Time) bool { return a != nil && b != nil && a.Equal(b.Time) }

func wireRow(device *fleet.Registered, state fleet.State, s *fleet.Snapshot) api.InventoryDevice {
	row := api.InventoryDevice{
		DeviceID: string(device.ID), Label: device.Label, Tags: wireTags(device.Tags),
		Connection: string(state.Connection), Configuration: string(state.Configuration),
		Reason: state.Reason, Next: state.Next, Since: moment(state.Since), LastSeen: moment(state.LastSeen),
		Address: state.Address, FoundBy: state.FoundBy, Waits: []string{},
	}
	for _, cause := range health.CausesOf(state, s) {
		row.Waits = append(row.Waits, string(cause))
	}
	if s == nil {
		return row
	}
	if s.Version != nil {
		row.Version, row.OS, row.Arch = s.Version.Version, s.Version.OS, s.Version.Arch
	}
	row.Folders, row.NeedBytes = foldersOf(s), s.NeedBytes()
	return row
}

// foldersOf counts the folders of a device.
func foldersOf(s *fleet.Snapshot) (counts api.InventoryFolders) {
	counts.All = len(s.Folders)
	for _, f := range s.Folders {
		switch standingOf(s, f.Folder) {
		case folderUnknown:
			counts.Unknown++
		case folderInError:
			counts.InError++
		case folderOutOfSync:
			counts.OutOfSync++
		case folderInSync:
			counts.InSync++
		}
	}
	return counts
}

// folderStanding is how a folder is on one device.
type folderStanding int

const (
	folderUnknown folderStanding = iota // unknown is a state of its own, never shown as good
	folderInError
	folderOutOfSync
	folderInSync
)

func standingOf(s *fleet.Snapshot, folder string) folderStanding {
	summary, known := s.Summaries[folder]
	switch {
	case !known || s.Connection != fleet.Online:
		return folderUnknown
	case summary.InError():
		return folderInError
	case summary.Lacks():
		return folderOutOfSync
	}
	return folderInSync
}
