package stsim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"strconv"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

var (
	places = []string{"amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "iris", "juniper",
		"karst", "lagoon"}
	kinds   = []string{"laptop", "nas", "server", "desk", "edge", "backup"}
	subject = []string{"photos", "documents", "music", "projects", "backups", "scans", "invoices", "videos", "notes",
		"website"}
)

// roll is a random source that depends on the farm's seed and what it is for, not on who asked before.
func roll(seed uint64, what string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func nameOf(seed uint64, number int) string {
	r := roll(seed, "name "+strconv.Itoa(number))
	return fmt.Sprintf("%s-%s-%03d", places[r.IntN(len(places))], kinds[r.IntN(len(kinds))], number)
}

// configure gives every daemon its first configuration: itself, the others of its group, and the group's folders.
func (f *Farm) configure() error {
	shared := newInterner()
	size := f.options.Group
	for from := 0; from < len(f.daemons); from += size {
		group := f.daemons[from:min(from+size, len(f.daemons))]
		for _, d := range group {
			doc, err := d.firstConfig(group, from/size)
			if err != nil {
				return fmt.Errorf("make the configuration of daemon %d: %w", d.number, err)
			}
			d.doc = shared.intern(d.Version(), doc)
		}
	}
	return nil
}

func (d *Daemon) firstConfig(group []*Daemon, site int) (stconfig.Value, error) {
	s := d.schema()
	doc := s.config.preset.With("version", number(s.version))
	var devices, members, folders []stconfig.Value
	for _, peer := range group {
		id := stconfig.Text(string(peer.id))
		devices = append(devices, s.device.presetValue().With("deviceID", id).With("name", stconfig.Text(peer.name)))
		members = append(members, s.folderDevice().zero.With("deviceID", id))
	}
	for i := range d.farm.options.Folders {
		id, label := folderName(d.farm.options.Seed, site, i)
		d.farm.contents.own(id)
		folders = append(folders, s.folder.presetValue().
			With("id", stconfig.Text(id)).With("label", stconfig.Text(label)).With("path",
			stconfig.Text(d.machine().tilde+d.machine().separator+id)).
			With("devices", stconfig.List(members...)))
	}
	options := doc.Get("options").
		With("startBrowser", stconfig.Boolean(false)).
		With("urAccepted", number(-1)).
		With("unackedNotificationIDs", stconfig.List(stconfig.Text(passwordNotice)))
	if d.number%3 == 2 { // some know their peers by static addresses only: their status says nothing of discovery
		options = options.With("globalAnnounceEnabled", stconfig.Boolean(false)).With("localAnnounceEnabled",
			stconfig.Boolean(false))
	}
	if d.farm.options.Quiet {
		for _, name := range []string{"globalAnnounceEnabled", "localAnnounceEnabled", "relaysEnabled", "natEnabled",
			"crashReportingEnabled"} {
			options = options.With(name, stconfig.Boolean(false))
		}
	}
	gui := doc.Get("gui").
		With("address", stconfig.Text(net.JoinHostPort(d.address.String(), strconv.Itoa(d.apiPort)))).
		With("useTLS", stconfig.Boolean(d.farm.options.UseTLS)).
		With("apiKey", stconfig.Text(randomKey()))
	return s.prepare(doc.With("devices", stconfig.List(devices...)).With("folders", stconfig.List(folders...)).
		With("options", options).With("gui", gui), d.owner())
}

// folderName: the first folder of every group has one ID all over the farm, as every site has its handbook; the others
// are the group's own.
func folderName(seed uint64, group, i int) (id, label string) {
	if i == 0 {
		return "handbook", "Handbook"
	}
	r := roll(seed, fmt.Sprintf("folder %d %d", group, i))
	what := subject[r.IntN(len(subject))]
	return fmt.Sprintf("%s-%04d-%d", what, group, i), fmt.Sprintf("%s of group %d", what, group)
}

// interner shares equal parts between the documents of a farm.
type interner struct{ known map[string]stconfig.Value }

func newInterner() *interner { return &interner{known: map[string]stconfig.Value{}} }

func (n *interner) intern(v Version, doc stconfig.Value) stconfig.Value {
	share := func(part stconfig.Value) stconfig.Value {
		key := string(v) + string(part.JSON())
		if same, there := n.known[key]; there {
			return same
		}
		n.known[key] = part
		return part
	}
	for _, name := range []string{"folders", "devices", "options", "ldap", "defaults"} {
		doc = doc.With(name, share(doc.Get(name)))
	}
	return doc
}

// contents are the files that the farm's folders would hold.
type contents struct {
	seed  uint64
	owned map[string]bool // folders that the farm was made with; any other is empty
}

func newContents(seed uint64) *contents { return &contents{seed: seed, owned: map[string]bool{}} }

// own is called while the farm is made, never later.
func (c *contents) own(id string) { c.owned[id] = true }

// directoryBytes is what v1 counts for every directory and symlink.
const directoryBytes = 128

// summary makes up the numbers of a folder: the same on all devices, but for a few devices that lag behind.
func (c *contents) summary(d *Daemon, config stconfig.Value) fleet.FolderSummary {
	var s fleet.FolderSummary
	id := config.Get("id").Str()
	if !c.owned[id] {
		return s
	}
	r := roll(c.seed, "content "+id)
	s.GlobalFiles, s.GlobalDirectories = 10+r.Int64N(5000), 1+r.Int64N(300)
	s.GlobalSymlinks, s.GlobalDeleted = r.Int64N(5), r.Int64N(100)
	perFile := 1000 + r.Int64N(4<<20)
	s.GlobalBytes = s.GlobalFiles * perFile
	own := roll(c.seed, fmt.Sprintf("content %s on %d", id, d.number))
	if own.IntN(8) == 0 {
		s.NeedFiles = 1 + own.Int64N(s.GlobalFiles)
		s.NeedBytes = s.NeedFiles * perFile
	}
	s.LocalFiles, s.LocalBytes = s.GlobalFiles-s.NeedFiles, s.GlobalBytes-s.NeedBytes
	s.LocalDirectories, s.LocalSymlinks, s.LocalDeleted = s.GlobalDirectories, s.GlobalSymlinks, s.GlobalDeleted
	if d.Version() == V1 {
		extra := directoryBytes * (s.GlobalDirectories + s.GlobalSymlinks)
		s.GlobalBytes, s.LocalBytes = s.GlobalBytes+extra, s.LocalBytes+extra
	}
	s.InSyncFiles, s.InSyncBytes = s.GlobalFiles-s.NeedFiles, s.GlobalBytes-s.NeedBytes
	s.Sequence = s.LocalFiles + s.LocalDirectories + s.LocalSymlinks + s.LocalDeleted + own.Int64N(1000)
	s.Version = s.Sequence
	return s
}
