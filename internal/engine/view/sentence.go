package view

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// The bounds of the sentences about one plan.
const (
	maxSentences  = 50     // A person reads no more.
	maxCircles    = 3      // More sentences about implied entries of one kind become one.
	maxStatements = 10_000 // Further statements are only counted.
	labelsGiven   = 5      // Devices that are named beside a sentence.
)

// Summary is what a plan does, in sentences. Each change of each device is counted by exactly one sentence, or in
// MoreChanges.
type Summary struct {
	Sentences   []Sentence // What may cost most comes first.
	MoreChanges int        // Changes without a sentence.
	MoreDevices int        // Devices with such changes.
	Removals    int        // Changes that take a folder, a device, a share or a value away.
	Removal     string     // The same for a person; "": nothing changes.
	Warnings    []string   // What is most probably a mistake.
}

// Sentence says what happens on one or more devices. Changes that are equal are one sentence.
type Sentence struct {
	Text    string
	Subject string // A folder, a device, or a key.
	Kind    SentenceKind
	Class   plan.Class // "": it counts no change.
	Devices int
	Changes int      // 0 for devices of which it is unknown what would change
	Labels  []string // Labels of the first devices.
}

// SentenceKind says what a sentence tells of.
type SentenceKind string

const (
	SentenceFailed  SentenceKind = "failed"    // No plan could be made.
	SentenceUnread  SentenceKind = "unread"    // The configuration was never read.
	SentenceRemoved SentenceKind = "removed"   // Something is taken away.
	SentenceAdded   SentenceKind = "added"     // Something is there that was not.
	SentenceChanged SentenceKind = "changed"   // A value becomes another.
	SentenceDropped SentenceKind = "unplanned" // A change is no longer planned.
)

// labelOf returns the label of a registered device, "" for an unknown device.
type labelOf = func(fleet.DeviceID) string

// SentenceSum makes sentences of the plans of devices, as they arrive. Their order does not matter.
type SentenceSum struct {
	label    labelOf
	groups   map[[sha256.Size]byte]*sentenceGroup
	whole    map[string]*deviceSentence // sentences about devices without a plan
	removals int
	more     int // changes beyond maxStatements
	moreOn   map[fleet.DeviceID]bool
	changes  int
}

// NewSentenceSum makes a sum. label returns "" for a device that the reader does not know.
func NewSentenceSum(label labelOf) *SentenceSum {
	return &SentenceSum{label: label, groups: map[[sha256.Size]byte]*sentenceGroup{},
		whole: map[string]*deviceSentence{}, moreOn: map[fleet.DeviceID]bool{}}
}

// sentenceGroup is a statement in words, and the devices that it holds for. It has no values, which may be large.
type sentenceGroup struct {
	words
	members []sentenceMember // a device is in it once
}

// sentenceMember is a device of a group, and the peers that its changes name.
type sentenceMember struct {
	device    fleet.DeviceID
	changes   int
	peers     int
	encrypted int               // peers that get a folder encrypted
	strangers int               // peers that are not registered
	names     []string          // Names of the first peers.
	others    [sha256.Size]byte // hash of the peers
	all       [sha256.Size]byte // hash of the peers and the device
}

// deviceSentence is about devices of which nobody knows what would change.
type deviceSentence struct {
	kind    SentenceKind
	reason  string
	devices []fleet.DeviceID
}

// Add adds what changes on a device. dropped are the changes that are no longer planned. A device is added once.
func (sum *SentenceSum) Add(id fleet.DeviceID, changes, dropped []plan.Change) {
	peers := map[*sentenceGroup][]peer{}
	count := map[*sentenceGroup]int{}
	var inOrder []*sentenceGroup
	add := func(changes []plan.Change, dropped bool) {
		for _, change := range changes {
			said, named := statementOf(id, change, dropped, sum.label)
			sum.changes++
			if said.removes() {
				sum.removals++
			}
			group := sum.groupOf(said)
			if group == nil {
				sum.more++
				sum.moreOn[id] = true
				continue
			}
			if count[group] == 0 {
				inOrder = append(inOrder, group)
			}
			count[group]++
			peers[group] = append(peers[group], named...)
		}
	}
	add(changes, false)
	add(dropped, true)
	for _, group := range inOrder {
		group.members = append(group.members, memberOf(id, count[group], peers[group]))
	}
}

// groupOf returns the group of a statement, nil if there are too many.
func (sum *SentenceSum) groupOf(said statement) *sentenceGroup {
	hash := said.sum()
	group := sum.groups[hash]
	if group == nil && len(sum.groups) < maxStatements {
		group = &sentenceGroup{words: said.words()}
		sum.groups[hash] = group
	}
	return group
}

func memberOf(id fleet.DeviceID, changes int, peers []peer) sentenceMember {
	m := sentenceMember{device: id, changes: changes, peers: len(peers)}
	if len(peers) == 0 {
		return m
	}
	slices.SortFunc(peers, func(a, b peer) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.rest, b.rest)) })
	m.others = hashOf(peers)
	at, _ := slices.BinarySearchFunc(peers, id, func(p peer, id fleet.DeviceID) int { return cmp.Compare(p.id, id) })
	m.all = hashOf(slices.Insert(slices.Clone(peers), at, peer{id: id}))
	for _, p := range peers {
		if p.encrypted {
			m.encrypted++
		}
		if !p.registered {
			m.strangers++
		}
	}
	m.names = firstNames(peers)
	return m
}

func hashOf(peers []peer) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range peers {
		fmt.Fprintf(h, "%q %q\n", p.id, p.rest)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// firstNames returns the names of the first peers, one more than a sentence names.
func firstNames(peers []peer) []string {
	names := make([]string, 0, len(peers))
	for _, p := range peers {
		names = append(names, cmp.Or(p.name, p.id.Short()))
	}
	slices.SortFunc(names, compareNames)
	return slices.Clone(names[:min(len(names), namedInText+1)])
}

func compareNames(a, b string) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
}

// Fail adds a device for which no plan can be made.
func (sum *SentenceSum) Fail(id fleet.DeviceID, reason string, failsNow bool) {
	reason = fleet.WithNames(reason, sum.label)
	if failsNow {
		reason += " (now as well)"
	}
	sum.ofDevice(SentenceFailed, reason, id)
}

// Unread adds a device whose configuration was never read.
func (sum *SentenceSum) Unread(id fleet.DeviceID) { sum.ofDevice(SentenceUnread, "", id) }

func (sum *SentenceSum) ofDevice(kind SentenceKind, reason string, id fleet.DeviceID) {
	key := string(kind) + " " + reason
	if sum.whole[key] == nil {
		sum.whole[key] = &deviceSentence{kind: kind, reason: reason}
	}
	sum.whole[key].devices = append(sum.whole[key].devices, id)
}

// Summary returns the sentences. The caller adds nothing afterwards.
func (sum *SentenceSum) Summary() Summary {
	var all []*saying
	for _, group := range sum.groups {
		all = append(all, group.sayings()...)
	}
	for _, s := range sum.whole {
		all = append(all, &saying{device: s, devices: s.devices})
	}
	for _, s := range all {
		s.write(sum.label)
	}
	slices.SortFunc(all, compareSayings)
	out := Summary{Sentences: []Sentence{}, Removals: sum.removals, MoreChanges: sum.more}
	for i, s := range all {
		if s.warning != "" && len(out.Warnings) < maxSentences {
			out.Warnings = append(out.Warnings, s.warning)
		}
		if i < maxSentences {
			out.Sentences = append(out.Sentences, s.sentence(sum.label))
			continue
		}
		out.MoreChanges += s.changes
		for _, id := range s.devices {
			sum.moreOn[id] = true
		}
	}
	out.MoreDevices = len(sum.moreOn)
	out.Removal = sum.removalText()
	return out
}

func (sum *SentenceSum) removalText() string {
	switch {
	case sum.removals == 1:
		return "1 change takes something away."
	case sum.removals > 0:
		return fmt.Sprintf("%d changes take something away.", sum.removals)
	case sum.changes == 0:
		return ""
	case len(sum.whole) > 0:
		return "Nothing is removed where a plan could be made."
	}
	return "Nothing is removed."
}

// sayings are the sentences of a group. Changes that name the same devices, or that name the device itself and the same
// others, are one.
func (g *sentenceGroup) sayings() []*saying {
	among := map[[sha256.Size]byte]int{}
	for _, m := range g.members {
		if m.peers > 0 {
			among[m.all]++
		}
	}
	type circle struct {
		all  bool
		hash [sha256.Size]byte
	}
	byCircle := map[circle]*saying{}
	var out []*saying
	for _, m := range g.members {
		c := circle{hash: m.others}
		if among[m.all] > 1 && m.peers > 0 {
			c = circle{all: true, hash: m.all}
		}
		s := byCircle[c]
		if s == nil {
			s = &saying{group: g, together: c.all, first: m, fewest: m.peers}
			byCircle[c] = s
			out = append(out, s)
		}
		s.devices = append(s.devices, m.device)
		s.changes += m.changes
		s.fewest, s.most = min(s.fewest, m.peers), max(s.most, m.peers)
	}
	return g.together(out)
}

// together makes one sentence of those about entries that shared folders imply, if they are many: where some of the
// devices know each other already, each device lacks others. Entries of devices that are not registered stay apart.
func (g *sentenceGroup) together(all []*saying) []*saying {
	if g.form != formEntry || g.class != plan.Implied || len(all) <= maxCircles {
		return all
	}
	var out []*saying
	var one *saying
	for _, s := range all {
		switch {
		case s.first.strangers > 0:
			out = append(out, s)
			continue
		case one == nil:
			one = s
			one.each = true
			out = append(out, one)
			continue
		}
		one.devices, one.changes = append(one.devices, s.devices...), one.changes+s.changes
		one.fewest, one.most = min(one.fewest, s.fewest), max(one.most, s.most)
	}
	return out
}

// SentencesOfHeld says in sentences what the changes of a held group do. label returns "" for a device that the reader
// does not know.
func SentencesOfHeld(g fleet.HeldGroup, label labelOf) Summary {
	sum := NewSentenceSum(label)
	byDevice := map[fleet.DeviceID][]plan.Change{}
	for _, held := range g.Changes {
		byDevice[held.Device] = append(byDevice[held.Device], heldChange(g, held))
	}
	for _, id := range slices.Sorted(maps.Keys(byDevice)) {
		sum.Add(id, byDevice[id], nil)
	}
	return sum.Summary()
}

// heldChange is the change that a person is shown of a group. Its secrets are masked.
func heldChange(g fleet.HeldGroup, held fleet.HeldChange) plan.Change {
	key, err := stconfig.ParseKey(held.Key)
	if err != nil { // A record that no version of Muster wrote.
		key = stconfig.Key{}.Child(held.Key)
	}
	value := func(text []byte) stconfig.Value {
		parsed, err := stconfig.Parse(text)
		if err != nil || parsed.Kind() == stconfig.Null {
			return stconfig.Value{}
		}
		return parsed
	}
	return plan.Change{Key: key, From: value(held.From), To: value(held.To), Class: plan.Held, Reason: held.Reason,
		Returns: g.Keep, OnlyKeep: !g.Consent && g.Keep, ToLeftOut: held.Digest == "" && !g.Removes}
}
