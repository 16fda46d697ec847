package view

import (
	"cmp"
	"slices"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// sentenceDraft is a sentence before it is written. It has either a group or unplanned.
type sentenceDraft struct {
	group     *sentenceGroup
	unplanned *deviceSentence
	isMutual  bool           // The devices name each other.
	isMerged  bool           // Each device names other devices: fewest to most of them.
	first     sentenceMember // the first device
	fewest    int            // peers
	most      int            // peers
	devices   []fleet.DeviceID
	changes   int

	text    string
	warning string
	rank    sentenceRank
}

// write makes the text, the warning and the rank, and orders the devices by label.
func (d *sentenceDraft) write(label labelOf) {
	names := make(map[fleet.DeviceID]string, len(d.devices))
	for _, id := range d.devices {
		names[id] = nameOf(id, label)
	}
	slices.SortFunc(d.devices, func(a, b fleet.DeviceID) int {
		return cmp.Or(compareNames(names[a], names[b]), cmp.Compare(a, b))
	})
	on := names[d.devices[0]]
	if len(d.devices) > 1 {
		on = fleet.Counted(len(d.devices), "device", "devices")
	}
	d.rank = d.rankOf()
	if d.unplanned != nil {
		d.text = d.unplannedText(on)
		return
	}
	d.warning = d.aloneText(on)
	if d.text = d.textOn(on); d.group.kind == SentenceDropped {
		d.text = "No longer planned: " + d.text
	}
}

func nameOf(id fleet.DeviceID, label labelOf) string { return word(cmp.Or(label(id), id.Short())) }

func (d *sentenceDraft) unplannedText(on string) string {
	switch {
	case d.unplanned.kind == SentenceFailed:
		return "No plan can be made for " + on + ": " + d.unplanned.reason
	case len(d.devices) == 1:
		return on + " was never read: what would change there is not known"
	}
	return on + " were never read: what would change there is not known"
}

// textOn is the text about devices, which on names.
func (d *sentenceDraft) textOn(on string) string {
	w := d.group.words
	switch w.form {
	case formFolder:
		if w.isRemoval {
			return w.subject + " is removed from " + on + " (its files stay)" + d.shared() + w.why
		}
		return w.subject + " is added on " + on + d.shared() + w.detail + w.why
	case formShare:
		return d.shareText(on)
	case formEntry:
		return on + d.knows() + d.whom("each other", "") + w.detail + w.why
	case formField:
		return d.fieldText() + w.verb + " on " + on + w.why
	}
	return w.subject + w.verb + " on " + on + w.why
}

// shareText is the text about a share that comes or goes.
func (d *sentenceDraft) shareText(on string) string {
	w := d.group.words
	switch {
	case !w.isRemoval:
		return w.subject + " is shared " + d.whom("among all of them", "with ") + " too, on " + on + d.encrypted() +
			w.detail + w.why
	case d.isMutual:
		return on + " no longer share " + lowerFirst(w.subject) + " with " + d.whom("each other", "") + w.why
	}
	return w.subject + " is no longer shared " + d.whom("", "with ") + ", on " + on + w.why
}

// knows is the verb of a sentence about device entries.
func (d *sentenceDraft) knows() string {
	isOne := len(d.devices) == 1
	switch {
	case d.group.isRemoval && isOne:
		return " no longer knows "
	case d.group.isRemoval:
		return " no longer know "
	case isOne:
		return " gets to know "
	}
	return " get to know "
}

// fieldText names a field in an entry or share: "Entries of nas and oslo: compression".
func (d *sentenceDraft) fieldText() string {
	w := d.group.words
	one, many := "entry", "entries"
	if w.subject != "" {
		one, many = "share", "shares"
	}
	text, isOne := "", false
	switch {
	case w.isOwn && len(d.devices) == 1:
		text, isOne = "its "+one+" of itself", true
	case w.isOwn:
		text = "their " + many + " of themselves"
	case d.isMutual:
		text = "their " + many + " of " + d.whom("each other", "")
	case d.first.peers == 1:
		text, isOne = one+" of "+d.whom("", ""), true
	default:
		text = many + " of " + d.whom("", "")
	}
	if w.subject != "" {
		text = w.subject + ", " + text
	}
	text = upperFirst(text)
	switch {
	case w.field != "":
		return text + ": " + w.field
	case isOne:
		return text
	}
	return text + ": each"
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// shared says with whom a whole folder is shared.
func (d *sentenceDraft) shared() string {
	was := ", "
	if d.group.isRemoval {
		was = ", where it is "
	}
	if d.first.peers == 0 {
		return was + "shared with nobody"
	}
	return was + "shared " + d.whom("among all of them", "with ") + d.encrypted()
}

// whom names the peers. Devices that name each other are named with the word together, others after a preposition.
func (d *sentenceDraft) whom(together, with string) string {
	if d.isMerged {
		return others(d.fewest, d.most)
	}
	if !d.isMutual {
		return with + listedNames(d.first.names, d.first.peers)
	}
	others := d.first.peers + 1 - len(d.devices)
	if others == 0 {
		return together
	}
	return together + " and " + with + fleet.Counted(others, "other", "others")
}

// others says how many other devices each device names.
func others(fewest, most int) string {
	text := fleet.Counted(most, "other", "others") + " each"
	if fewest < most {
		return fleet.NumberText(fewest) + " to " + text
	}
	return text
}

func (d *sentenceDraft) encrypted() string {
	switch {
	case d.first.encrypted == 0:
		return ""
	case d.first.encrypted == d.first.peers:
		return ", encrypted"
	}
	return ", encrypted for " + fleet.NumberText(d.first.encrypted) + " of them"
}

// listedNames writes the first names of a total: "a, b, c and 13 more".
func listedNames(names []string, total int) string {
	names = slices.Clone(names[:min(len(names), namedInText)])
	for i := range names {
		names[i] = word(names[i])
	}
	switch more := total - len(names); {
	case more > 0:
		return strings.Join(names, ", ") + " and " + fleet.NumberText(more) + " more"
	case len(names) < 2:
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// sentenceRank orders sentences: what may cost most comes first.
type sentenceRank int

const (
	rankFailed sentenceRank = iota
	rankUnread
	rankRemoved
	rankRefused
	rankHeld
	rankFolder
	rankShare
	rankValue
	rankEntry
	rankDropped
	rankSkipped
)

func (d *sentenceDraft) rankOf() sentenceRank {
	if d.unplanned != nil {
		if d.unplanned.kind == SentenceUnread {
			return rankUnread
		}
		return rankFailed
	}
	switch w := d.group.words; {
	case w.kind == SentenceDropped:
		return rankDropped
	case w.class == plan.Skipped:
		return rankSkipped
	case w.class == plan.Refused:
		return rankRefused
	case w.isRemoval && w.class != plan.Implied:
		return rankRemoved
	case w.class == plan.Held:
		return rankHeld
	case w.form == formFolder:
		return rankFolder
	case w.form == formShare:
		return rankShare
	case w.form == formEntry:
		return rankEntry
	}
	return rankValue
}

// compareDrafts orders by rank, then by number of devices, the most first.
func compareDrafts(a, b *sentenceDraft) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(b.devices), len(a.devices)), cmp.Compare(a.text, b.text),
		slices.Compare(a.devices, b.devices), cmp.Compare(a.changes, b.changes))
}

// sentence returns the sentence as readers see it.
func (d *sentenceDraft) sentence(label labelOf) Sentence {
	out := Sentence{Text: d.text, Devices: len(d.devices), Changes: d.changes, Labels: []string{}}
	for _, id := range d.devices[:min(len(d.devices), labelsGiven)] {
		out.Labels = append(out.Labels, nameOf(id, label))
	}
	if d.unplanned != nil {
		out.Kind, out.Subject = d.unplanned.kind, out.Labels[0]
		return out
	}
	w := d.group.words
	out.Kind, out.Class, out.Subject = w.kind, w.class, w.subject
	switch {
	case w.form == formField && w.isOwn:
		out.Subject = out.Labels[0]
	case w.form == formField, w.form == formEntry:
		out.Subject = d.whom(out.Labels[0], "")
	}
	return out
}
