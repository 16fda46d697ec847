package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Inventory is how all devices stand; see view.View. The registry is the one of the caller's scope.
type Inventory interface {
	Inventory(ctx context.Context, registry *fleet.Registry, q view.Query) (*view.Document, error)
}

// Rows are those of the inventory.
type Rows interface {
	// Rows are by label, then ID. With an error they are the last ones.
	Rows(ctx context.Context, registry *fleet.Registry) ([]*view.Row, error)
	// Row is that of one device; nil for one that is not in the caller's scope.
	Row(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) (*view.Row, error)
}

// InventoryHandlers show the table of all devices.
type InventoryHandlers struct {
	*base
	Inventory Inventory
}

func (s InventoryHandlers) routes(b *base) []route {
	s.base = b
	return []route{{
		method: http.MethodGet, path: Prefix + "/inventory", name: "getInventory", permission: auth.Read,
		summary: "Every device with what a table of the fleet shows, and how many have each value of each filter",
		query:   append(slices.Clone(inventoryFilters), inventoryDevices, sortParam, limitParam, offsetParam),
		reply:   reflect.TypeFor[api.Inventory](), off: s.Inventory == nil, handle: s.getInventory,
	}}
}

var (
	deviceSearch = textParam("q", "Only devices with this text in label, ID or address, whatever its letter case")
	deviceTags   = several[fleet.Tag]{tagNamed("Only devices with this tag; may be given several times: with all of them")}
	deviceStates = several[string]{queryParam("state", "Only devices with this connection or configuration; may be given "+
		"several times: with one of the connections, and with one of the configurations",
		enumSchema(append(textsOf(fleet.Connections()), textsOf(fleet.Configurations())...)), parseState)}
	deviceFolderStates = several[fleet.FolderState]{queryParam("folderState", "Only devices with a folder in this state; "+
		"may be given several times: in one of them", enumSchema(folderStateWords()), fleet.ParseFolderState)}
	deviceVersions = several[string]{queryParam("version",
		"Only devices with this version, with or without its v, or that begins so (2.1), or before or after one (<2, "+
			">=2.1); may be given several times: with one of them",
		textSchema(), parseVersion)}
	deviceStale = durationParam("stale", "Only devices that are not online and were not seen for so long, as 36h or 7d; "+
		"one that was never seen counts from its registration")
	deviceDisk = numberParam("diskBelow", "Only devices with a disk of which less than so many percent are free, as "+
		"their agents tell it", 1, 100)
	deviceSystems = several[string]{queryParam("os", "Only devices with this system; may be given several times: "+
		"with one of them. A blank one is that of devices before first contact", textSchema(), parseSystem)}
	deviceWaits = statesParam(
		"waiting",
		"Only devices that wait for a person for this cause, for any, for none, or because of "+
			"any trouble with connection or files, or with something that becomes trouble if it lasts (young); may be "+
			"given several times: for one of them",
		append(slices.Clone(view.WaitsBesides), fleet.WaitCauses...),
	)
	deviceOutdated = boolParam("outdated", "Only devices with a version of Syncthing older than the newest release that "+
		"any device runs; devices with a release candidate are compared with the newest candidate too")
	inventoryDevices = several[fleet.DeviceID]{deviceParam("Only these devices; may be given several times")}
	offsetParam      = numberParam("offset", "Leave out so many; the Link header leads to the next page", 0, 0)
	sortParam        = queryParam("sort", "The order; with - the other way round. What is not known comes last",
		enumSchema(bothWays(view.Sorts())), parseSort)
)

// inventoryFilters are the parameters that pick devices.
var inventoryFilters = []parameter{
	deviceSearch,
	deviceTags,
	deviceStates,
	deviceFolderStates, deviceStale, deviceDisk,
	deviceVersions,
	deviceSystems,
	deviceWaits,
	deviceOutdated,
}

func textsOf[K ~string](values []K) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return texts
}

func folderStateWords() []string {
	words := make([]string, fleet.FolderStateCount)
	for i, state := range fleet.FolderStates() {
		words[i] = state.String()
	}
	return words
}

// bothWays are names, each followed by itself with a minus.
func bothWays(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, name, "-"+name)
	}
	return all
}

func parseState(text string) (string, error) {
	if !slices.Contains(fleet.Connections(), fleet.Connection(text)) &&
		!slices.Contains(fleet.Configurations(), fleet.Configuration(text)) {
		return "", fleet.InvalidWord("state", text, fmt.Sprintf("state is a connection (%s) or a configuration (%s)",
			orList(fleet.Connections()), orList(fleet.Configurations())),
			append(textsOf(fleet.Connections()), textsOf(fleet.Configurations())...))
	}
	return text, nil
}

// versionFilter is a version of Syncthing or the beginning of one, with or without its v. < and the like may come
// before.
var versionFilter = regexp.MustCompile(`^([<>]=? *)?v?[0-9]+(\.[0-9]+)*([-+~][^<>=]*)?$`)

// unknownVersion is what a daemon tells whose build named no version.
const unknownVersion = "unknown-dev"

// parseVersion reads a filter of versions. A blank one picks devices whose version is not known.
func parseVersion(text string) (string, error) {
	if text != "" && text != unknownVersion && (!versionFilter.MatchString(text) || !utf8.ValidString(text)) {
		return "", fleet.Invalidf("version", "%q is no version of Syncthing: write one, as 2.1.3, or its beginning, as "+
			"2.1, or one with <, <=, > or >= before it, as '>=2.1'", text)
	}
	return text, nil
}

// systems are those for which programs in Go are made, as daemons name theirs.
var systems = []string{"aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "linux", "netbsd",
	"openbsd", "plan9", "solaris", "windows"}

// parseSystem reads a filter of systems. A blank one picks devices whose system is not known.
func parseSystem(text string) (string, error) {
	if text != "" && !slices.Contains(systems, text) {
		return "", fleet.InvalidWord("os", text, fmt.Sprintf("%q is no system: os is %s", text, orList(systems)), systems)
	}
	return text, nil
}

func parseSort(text string) (string, error) {
	if text != "" && !slices.Contains(view.Sorts(), strings.TrimPrefix(text, "-")) {
		return "", fleet.Invalidf("sort", "sort is %s, with - before it for the other way round", orList(view.Sorts()))
	}
	return text, nil
}

func (s InventoryHandlers) getInventory(r *request) (reply, error) {
	q, err := r.inventoryQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	answer, err := s.Inventory.Inventory(r.Context(), registry, q)
	if err != nil {
		return reply{}, err
	}
	out := reply{document: answer.Encode, length: answer.Length, etag: etagOf([]byte(answer.Revision))}
	out.link = r.nextAt(answer.Next)
	return out, nil
}

// nextAt is the Link to the members from an offset on; blank for 0, which is no next page.
func (r *request) nextAt(offset int) string {
	if offset == 0 {
		return ""
	}
	values := r.URL.Query()
	values.Set("offset", strconv.Itoa(offset))
	return "<" + r.URL.EscapedPath() + "?" + values.Encode() + `>; rel="next"`
}

// inventoryQuery reads which rows are asked for, with all parameters of an inventory.
func (r *request) inventoryQuery() (q view.Query, err error) {
	if q, err = r.inventoryFilter(); err != nil {
		return q, err
	}
	var by string
	err = cmp.Or(inventoryDevices.read(r, &q.IDs), sortParam.read(r, &by), limitParam.read(r, &q.Limit),
		offsetParam.read(r, &q.Offset))
	q.Sort, q.Descending = strings.CutPrefix(by, "-")
	return q, err
}

// inventoryFilter reads the parameters that pick devices.
func (r *request) inventoryFilter() (q view.Query, err error) {
	var stale time.Duration
	var states []string
	if err = cmp.Or(deviceSearch.read(r, &q.Search), deviceTags.read(r, &q.Tags), deviceStale.read(r, &stale),
		deviceDisk.read(r, &q.DiskBelow), deviceFolderStates.read(r, &q.FolderStates),
		deviceVersions.read(r, &q.Versions), deviceSystems.read(r, &q.Systems), deviceWaits.read(r, &q.Waiting),
		deviceOutdated.read(r, &q.Outdated), deviceStates.read(r, &states)); err != nil {
		return q, err
	}
	q.Search = strings.ToLower(q.Search)
	if stale > 0 { // whole minutes, so that an answer is good for a while
		q.SeenBefore = time.Now().Add(-stale).Truncate(time.Minute)
	}
	for _, state := range states {
		if slices.Contains(fleet.Connections(), fleet.Connection(state)) {
			q.Connections = append(q.Connections, fleet.Connection(state))
		} else {
			q.Configurations = append(q.Configurations, fleet.Configuration(state))
		}
	}
	return q, nil
}

// Wire writes down what a view keeps as it is sent.
type Wire struct{}

// Row is a device of an inventory.
func (Wire) Row(row *view.Row) ([]byte, error) {
	text, err := encode(wireRow(row))
	return bytes.TrimSuffix(text, []byte("\n")), err
}

// Inventory is one without its devices, and what comes after them.
func (Wire) Inventory(page view.Page) (text []byte, tail string, err error) {
	text, err = encode(api.Inventory{Total: page.Total, Matched: page.Matched, Counts: api.InventoryCounts(page.Counts),
		Outdated: api.OutdatedVersions{Newest: page.Outdated.Newest, NewestCandidate: page.Outdated.NewestCandidate,
			Versions: slices.Concat([]string{}, page.Outdated.Versions)},
		Devices: []api.InventoryDevice{}})
	return text, "]}\n", err
}

// State is a device of the list of states.
func (Wire) State(id fleet.DeviceID, state fleet.State, worst fleet.WorstFolder) ([]byte, error) {
	text, err := encode(api.ListedState{DeviceID: string(id), DeviceState: wireStateWith(state, worst)})
	return bytes.TrimSuffix(text, []byte("\n")), err
}

func wireRow(row *view.Row) api.InventoryDevice {
	d, state := row.Device, row.State
	wire := api.InventoryDevice{
		DeviceID: string(d.ID), Label: d.Label, Tags: wireTags(d.Tags), Mode: string(row.Mode),
		Connection: string(state.Connection), Configuration: string(state.Configuration),
		Reason: state.Reason, Next: state.Next, Since: moment(state.Since), LastSeen: moment(state.LastSeen),
		Address: state.Address, FoundBy: state.FoundBy, Waits: textsOf(row.Waits),
		Version: row.Version, OS: row.OS, Arch: row.Arch, NeedBytes: row.NeedBytes,
		NeedUnknown: row.Folders.Unknown(), Folders: wireFolderCounts(row.Folders),
	}
	if row.DiskFree >= 0 {
		wire.DiskFree = &row.DiskFree
	}
	return wire
}
