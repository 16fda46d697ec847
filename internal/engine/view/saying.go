package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// saying is a sentence before it is written.
type saying struct {
	group    *sentenceGroup  // nil for devices without a plan
	device   *deviceSentence // nil for changes
	together bool            // The devices name each other.
	each     bool            // Each device names others; fewest and most say how many.
	first    sentenceMember
	fewest   int // peers
	most     int // peers
	devices  []fleet.DeviceID
	changes  int

	text    string
	warning string
	rank    int
}

// write makes the text and the rank, and orders the devices by label.
func (s *saying) write(label labelOf) {
	names := make(map[fleet.DeviceID]string, len(s.devices))
	for _, id := range s.devices {
		names[id] = nameOf(id, label)
	}
	slices.SortFunc(s.devices, func(a, b fleet.DeviceID) int {
		return cmp.Or(compareNames(names[a], names[b]), cmp.Compare(a, b))
	})
	on := names[s.devices[0]]
	if len(s.devices) > 1 {
		on = countedDevices(len(s.devices))
	}
	s.rank = s.rankOf()
	if s.device != nil {
		s.text = s.device.text(on)
		return
	}
	s.warning = s.aloneText(on)
	if s.text = s.textOn(on); s.group.kind == SentenceDropped {
		s.text = "No longer planned: " + s.text
	}
}

func nameOf(id fleet.DeviceID, label labelOf) string { return word(cmp.Or(label(id), id.Short())) }

func countedDevices(n int) string { return fleet.Counted(n, "device", "devices") }

func (d *deviceSentence) text(on string) string {
	if d.kind == SentenceUnread {
		return "Nobody knows what would change on " + on + ", never read so far"
	}
	return "No plan can be made for " + on + ": " + d.reason
}

// textOn is the text about devices.
func (s *saying) textOn(on string) string {
	w := s.group.words
	switch w.form {
	case formFolder:
		if w.gone {
			return w.subject + " is removed from " + on + " (its files stay)" + s.shared() + w.detail + w.why
		}
		return w.subject + " is added on " + on + s.shared() + w.detail + w.why
	case formShare:
		if w.gone {
			return w.subject + " is no longer shared " + s.whom("among all of them", "with ") + ", on " + on + w.why
		}
		return w.subject + " is shared " + s.whom("among all of them", "with ") + " too, on " + on + s.encrypted() + w.why
	case formEntry:
		verb := " get to know "
		switch {
		case w.gone && len(s.devices) == 1:
			verb = " no longer knows "
		case w.gone:
			verb = " no longer know "
		case len(s.devices) == 1:
			verb = " gets to know "
		}
		return on + verb + s.whom("each other", "") + w.detail + w.why
	case formFieldOfPeer:
		subject := w.subject + s.whom("each other", "")
		if w.field != "" {
			subject += ":" + w.field
		}
		return subject + w.verb + " on " + on + w.why
	}
	return w.subject + w.verb + " on " + on + w.why
}

// shared says with whom a whole folder is shared.
func (s *saying) shared() string {
	was := ", "
	if s.group.gone {
		was = ", where it is "
	}
	if s.first.peers == 0 {
		return was + "shared with nobody"
	}
	return was + "shared " + s.whom("among all of them", "with ") + s.encrypted()
}

// whom names the other devices: together, or after a preposition.
func (s *saying) whom(together, with string) string {
	if s.each {
		return others(s.fewest, s.most)
	}
	if !s.together {
		return with + listedNames(s.first.names, s.first.peers)
	}
	switch others := s.first.peers + 1 - len(s.devices); others {
	case 0:
		return together
	case 1:
		return together + " and " + with + "1 other"
	default:
		return fmt.Sprintf("%s and %s%d others", together, with, others)
	}
}

// others says how many other devices each device names.
func others(fewest, most int) string {
	switch {
	case fewest < most:
		return fmt.Sprintf("%d to %d others each", fewest, most)
	case most == 1:
		return "1 other each"
	}
	return fmt.Sprintf("%d others each", most)
}

func (s *saying) encrypted() string {
	switch {
	case s.first.encrypted == 0:
		return ""
	case s.first.encrypted == s.first.peers:
		return ", encrypted"
	}
	return fmt.Sprintf(", encrypted for %d of them", s.first.encrypted)
}

// listedNames writes the first names of a total: "a, b, c and 13 more".
func listedNames(names []string, total int) string {
	names = slices.Clone(names[:min(len(names), namedInText)])
	for i := range names {
		names[i] = word(names[i])
	}
	switch more := total - len(names); {
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	case len(names) < 2:
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// rankOf orders sentences: what may cost most comes first.
func (s *saying) rankOf() int {
	const (
		failed = iota
		unread
		removed
		refused
		held
		folder
		share
		value
		entry
		dropped
		skipped
	)
	if s.device != nil {
		if s.device.kind == SentenceUnread {
			return unread
		}
		return failed
	}
	switch w := s.group.words; {
	case w.kind == SentenceDropped:
		return dropped
	case w.class == plan.Skipped:
		return skipped
	case w.class == plan.Refused:
		return refused
	case w.gone && w.class != plan.Implied:
		return removed
	case w.class == plan.Held:
		return held
	case w.form == formFolder:
		return folder
	case w.form == formShare:
		return share
	case w.form == formEntry:
		return entry
	}
	return value
}

// compareSayings orders by rank, then by devices, the most first.
func compareSayings(a, b *saying) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(b.devices), len(a.devices)), cmp.Compare(a.text, b.text),
		slices.Compare(a.devices, b.devices), cmp.Compare(a.changes, b.changes))
}

// sentence is what is shown of it.
func (s *saying) sentence(label labelOf) Sentence {
	out := Sentence{Text: s.text, Devices: len(s.devices), Changes: s.changes, Labels: []string{}}
	for _, id := range s.devices[:min(len(s.devices), labelsGiven)] {
		out.Labels = append(out.Labels, nameOf(id, label))
	}
	if s.device != nil {
		out.Kind, out.Subject = s.device.kind, out.Labels[0]
		return out
	}
	w := s.group.words
	out.Kind, out.Class, out.Subject = w.kind, w.class, w.subject
	if w.form == formFieldOfPeer || w.form == formEntry {
		out.Subject = s.whom(out.Labels[0], "")
	}
	return out
}
