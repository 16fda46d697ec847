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
	maxFailed     = 9      // Further sentences about failed plans come last, so that they hide no change.
	maxCircles    = 3      // More sentences about implied entries of one kind become one.
	maxStatements = 10_000 // Further statements are only counted.
	labelsGiven   = 5      // Devices that are named beside a sentence.
)

// Summary is what a plan does, in sentences. Each change of each device is counted by exactly one sentence, or in
// MoreChanges.
type Summary struct {
	Sentences       []Sentence // What may cost most comes first.
	MoreChanges     int        // Changes without a sentence.
	MoreDevices     int        // Devices with such changes.
	MoreWithoutPlan int        // Devices without a plan and without a sentence.
	Removals        int        // Changes that take a folder, a device, a share, a value or entries of a list away.
	Removal         string     // The same for a person; "": nothing changes.
	Warnings        []string   // What is most probably a mistake.
}

// Sentence says what happens on one or more devices. Equal changes are one sentence.
type Sentence struct {
	Text    string
	Subject string // A folder, a device, or a key.
	Kind    SentenceKind
	Class   plan.Class // "": it counts no change.
	Devices int
	Changes int      // 0 for devices of which it is unknown what would change
	Labels  []string // Labels of the first devices.
}

// SentenceKind is what a sentence is about.
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
	label     labelOf
	groups    map[[sha256.Size]byte]*sentenceGroup
	unplanned map[string]*deviceSentence // sentences about devices without a plan
	changes   int
	removals  int
	more      int // changes beyond maxStatements
	moreOn    map[fleet.DeviceID]bool
	alone     map[string][]fleet.DeviceID // devices on which a folder loses its last share, by folder
	isPartial bool                        // Devices or values are left out, so there may be removals that nobody counted.
}

// NewSentenceSum makes a sum. label returns "" for a device that the reader does not know.
func NewSentenceSum(label labelOf) *SentenceSum {
	return &SentenceSum{label: label, groups: map[[sha256.Size]byte]*sentenceGroup{},
		unplanned: map[string]*deviceSentence{}, alone: map[string][]fleet.DeviceID{}, moreOn: map[fleet.DeviceID]bool{}}
}

// sentenceGroup is a statement in words, and its devices. It has no values, because they may be large.
type sentenceGroup struct {
	words
	members []sentenceMember // A device is a member once.
}

// sentenceMember is a device of a group, and the peers that its changes name.
type sentenceMember struct {
	device    fleet.DeviceID
	changes   int
	peers     int
	encrypted int               // peers that get the folder encrypted
	strangers int               // peers that are not registered
	names     []string          // names of the first peers
	others    [sha256.Size]byte // hash of the peers
	all       [sha256.Size]byte // hash of the peers and the device
}

// deviceSentence is about devices without a plan.
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
	add := func(changes []plan.Change, isDropped bool) {
		for _, change := range changes {
			stated, named := statementOf(id, change, isDropped, sum.label)
			sum.count(stated)
			group := sum.groupOf(stated)
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

// count counts a change, and a removal if the change is made.
func (sum *SentenceSum) count(stated statement) {
	sum.changes++
	switch {
	case !stated.isMade():
	case stated.isRemoval():
		sum.removals++
	case stated.hasNoValues():
		sum.isPartial = true
	}
}

// groupOf returns the group of a statement, nil if there are too many groups.
func (sum *SentenceSum) groupOf(stated statement) *sentenceGroup {
	hash := stated.sum()
	group := sum.groups[hash]
	if group == nil && len(sum.groups) < maxStatements {
		group = &sentenceGroup{words: stated.words()}
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
		if p.isEncrypted {
			m.encrypted++
		}
		if !p.isRegistered {
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
	if sum.unplanned[key] == nil {
		sum.unplanned[key] = &deviceSentence{kind: kind, reason: reason}
	}
	sum.unplanned[key].devices = append(sum.unplanned[key].devices, id)
}

// Summary returns the sentences. The caller adds nothing afterwards.
func (sum *SentenceSum) Summary() Summary {
	out := Summary{Sentences: []Sentence{}, Removals: sum.removals, Removal: sum.removalText(), MoreChanges: sum.more}
	for i, draft := range sum.drafts() {
		if draft.warning != "" && len(out.Warnings) < maxSentences {
			out.Warnings = append(out.Warnings, draft.warning)
		}
		switch {
		case i < maxSentences:
			out.Sentences = append(out.Sentences, draft.sentence(sum.label))
		case draft.unplanned != nil:
			out.MoreWithoutPlan += len(draft.devices)
		default:
			out.MoreChanges += draft.changes
			for _, id := range draft.devices {
				sum.moreOn[id] = true
			}
		}
	}
	out.Warnings = append(out.Warnings, sum.aloneWarnings(maxSentences-len(out.Warnings))...)
	out.MoreDevices = len(sum.moreOn)
	return out
}

// drafts returns all sentences in order. Sentences about failed plans beyond maxFailed are the last.
func (sum *SentenceSum) drafts() []*sentenceDraft {
	var all []*sentenceDraft
	for _, group := range sum.groups {
		all = append(all, group.drafts()...)
	}
	for _, one := range sum.unplanned {
		all = append(all, &sentenceDraft{unplanned: one, devices: one.devices})
	}
	failed := 0
	for _, draft := range all {
		draft.write(sum.label)
		if draft.rank == rankFailed {
			failed++
		}
	}
	slices.SortFunc(all, compareDrafts)
	if failed <= maxFailed {
		return all
	}
	return slices.Concat(all[:maxFailed], all[failed:], all[maxFailed:failed])
}

func (sum *SentenceSum) removalText() string {
	switch {
	case sum.changes == 0:
		return ""
	case sum.removals > 0:
		text := fleet.Counted(sum.removals, "change takes", "changes take") + " something away."
		if sum.isPartial {
			return "At least " + text
		}
		return text
	case sum.isPartial:
		return "Nothing is removed in what is shown here; not everything is."
	case len(sum.unplanned) > 0:
		return "Nothing is removed where a plan could be made."
	}
	return "Nothing is removed."
}

// drafts are the sentences of a group. Changes of two devices are one sentence if they name the same peers, or if each
// device and its peers together are the same devices.
func (g *sentenceGroup) drafts() []*sentenceDraft {
	among := map[[sha256.Size]byte]int{}
	for _, m := range g.members {
		if m.peers > 0 {
			among[m.all]++
		}
	}
	type circle struct {
		isMutual bool
		hash     [sha256.Size]byte
	}
	byCircle := map[circle]*sentenceDraft{}
	var out []*sentenceDraft
	for _, m := range g.members {
		c := circle{hash: m.others}
		if among[m.all] > 1 && m.peers > 0 {
			c = circle{isMutual: true, hash: m.all}
		}
		draft := byCircle[c]
		if draft == nil {
			draft = &sentenceDraft{group: g, isMutual: c.isMutual, first: m, fewest: m.peers}
			byCircle[c] = draft
			out = append(out, draft)
		}
		draft.devices = append(draft.devices, m.device)
		draft.changes += m.changes
		draft.fewest, draft.most = min(draft.fewest, m.peers), max(draft.most, m.peers)
	}
	return g.merged(out)
}

// merged makes one sentence of those about implied entries, if there are more than maxCircles: where some devices know
// each other already, each device lacks other entries. Sentences about devices that are not registered stay apart.
func (g *sentenceGroup) merged(all []*sentenceDraft) []*sentenceDraft {
	if g.form != formEntry || g.class != plan.Implied || len(all) <= maxCircles {
		return all
	}
	var out []*sentenceDraft
	var one *sentenceDraft
	for _, draft := range all {
		switch {
		case draft.first.strangers > 0:
			out = append(out, draft)
		case one == nil:
			one = draft
			out = append(out, one)
		default:
			one.isMerged = true
			one.devices, one.changes = append(one.devices, draft.devices...), one.changes+draft.changes
			one.fewest, one.most = min(one.fewest, draft.fewest), max(one.most, draft.most)
		}
	}
	return out
}

// SentencesOfHeld makes sentences of the changes of a held group. label returns "" for a device that the reader does
// not know.
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

// heldChange is a change of a held group as a person sees it. Its secrets are masked.
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
