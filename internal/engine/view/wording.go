package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	namedInText = 3  // Other devices that a text names.
	maxWord     = 60 // Characters of a value or a name.
)

// words are a statement in words, without the devices.
type words struct {
	form      sentenceForm
	kind      SentenceKind
	class     plan.Class
	subject   string // Like "Team (~/Team)" or "options.natEnabled". Of a field: the folder; "" for a device entry.
	field     string // The names below a device entry or share.
	verb      string // What happens to a value.
	detail    string // What else a new folder, share or device entry sets.
	why       string // Why the change is made, or not made.
	isOwn     bool   // The entry or share is the device's own.
	isMade    bool   // The change is made, at once or after an answer.
	isRemoval bool
}

// sentenceForm is how a sentence is built.
type sentenceForm int

const (
	formValue  sentenceForm = iota // A value becomes another value.
	formFolder                     // A whole folder comes or goes.
	formShare                      // A share comes or goes.
	formEntry                      // A device gets to know another device, or no longer knows it.
	formField                      // A value changes in a device entry or share.
)

// words returns a statement in words.
func (s *statement) words() words {
	w := words{kind: s.kind(), class: s.class, why: s.why(), isOwn: s.isOwn, isMade: s.isMade(),
		isRemoval: s.isRemoval()}
	switch {
	case s.key.Len() == 0:
		w.subject = "The whole configuration"
	case s.isWholeFolder:
		w.form = formFolder
		w.subject, w.detail = s.folder()
		return w
	case s.in("folders"):
		s.inFolder(&w)
	case s.in("devices") && s.key.Len() > 1:
		s.ofEntry(&w)
	case s.in("ignores") && s.key.Len() == 2:
		w.subject = "The list of ignore patterns of folder " + word(s.key.At(1).Name)
	default:
		w.subject = s.key.String()
	}
	w.subject, w.field = cut(w.subject, 2*maxWord), cut(w.field, 2*maxWord)
	if w.verb == "" {
		w.verb = s.becomes()
	}
	return w
}

func (s *statement) kind() SentenceKind {
	switch {
	case s.isDropped:
		return SentenceDropped
	case s.isRemoval():
		return SentenceRemoved
	case !s.from.Exists() && s.to.Exists():
		return SentenceAdded
	}
	return SentenceChanged
}

// inFolder sets the words about a place inside a folder.
func (s *statement) inFolder(w *words) {
	if s.key.Len() == 1 {
		w.subject = s.key.String()
		return
	}
	w.subject = "Folder " + word(s.key.At(1).Name)
	isShare := s.key.Len() >= 4 && strings.EqualFold(s.key.At(2).Name, "devices")
	switch {
	case isShare && s.key.Len() == 4 && !s.isOwn && s.from.Exists() != s.to.Exists():
		w.form, w.detail = formShare, alsoSets(withoutEmpty(s.to), "encryptionPassword")
	case isShare:
		w.form, w.field = formField, below(s.key, 4)
	case s.isField("paused") && s.to.IsTrue():
		w.verb = " is paused"
	case s.isField("paused") && s.to.Exists():
		w.verb = " is resumed"
	case s.isField("type") && !s.hasNoValues():
		w.verb = becomesWords(folderType(s.from), folderType(s.to))
	case s.key.Len() > 2:
		w.subject += ": " + below(s.key, 2)
	}
}

// ofEntry sets the words about an entry in the daemon's list of devices.
func (s *statement) ofEntry(w *words) {
	if s.key.Len() == 2 && !s.isOwn && s.from.Exists() != s.to.Exists() {
		w.form, w.detail = formEntry, alsoSets(s.to)
		return
	}
	w.form, w.field = formField, below(s.key, 2)
}

// isField reports whether the key is this field of a folder.
func (s *statement) isField(name string) bool {
	return s.key.Len() == 3 && strings.EqualFold(s.key.At(2).Name, name)
}

// below returns the names of a key from a position on.
func below(key stconfig.Key, from int) string {
	if key.Len() <= from {
		return ""
	}
	names := make([]string, 0, key.Len()-from)
	for i := from; i < key.Len(); i++ {
		names = append(names, key.At(i).Name)
	}
	return strings.Join(names, ".")
}

// folder names a whole folder. detail is what a new folder sets.
func (s *statement) folder() (name, detail string) {
	folder := s.to
	if !folder.Exists() {
		folder = s.from
	}
	name = word(cmp.Or(folder.Get("label").Str(), s.key.At(1).Name))
	if path := folder.Get("path").Str(); path != "" {
		name += " (" + word(path) + ")"
	}
	if !s.to.Exists() {
		return name, ""
	}
	if kind := folder.Get("type"); kind.Exists() {
		detail = ", " + folderType(kind)
	}
	if folder.Get("paused").IsTrue() {
		detail += ", paused"
	}
	return name, detail + alsoSets(folder, "id", "label", "path", "type", "paused")
}

// alsoSets lists the fields of a new folder, share or device entry, except some.
func alsoSets(value stconfig.Value, but ...string) string {
	var names []string
	for name := range value.Members() {
		if !slices.Contains(but, name) {
			names = append(names, word(name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return ", sets " + listedNames(names, len(names))
}

// folderType gives Syncthing's folder types the words of its own interface.
func folderType(kind stconfig.Value) string {
	switch text := kind.Str(); text {
	case "sendreceive", "":
		return "send and receive"
	case "sendonly":
		return "send only"
	case "receiveonly":
		return "receive only"
	case "receiveencrypted":
		return "receive encrypted"
	default:
		return word(text)
	}
}

// becomes says what a value becomes.
func (s *statement) becomes() string {
	from, to := s.from, s.to
	switch {
	case s.hasNoValues():
		return s.withoutValues()
	case !to.Exists():
		return " is taken away (it is " + valueWord(from) + ")"
	case !from.Exists():
		return " becomes " + valueWord(to)
	case isSecret(from) && isSecret(to):
		return " becomes another secret"
	}
	lost := s.lostEntries()
	switch {
	case len(lost) > 0 && to.Len() == from.Len()-len(lost):
		return losesWords(lost, from.Len())
	case len(lost) > 0 && (shortJSON(from) == "" || shortJSON(to) == ""):
		return losesWords(lost, from.Len()) + " and becomes a " + kindWord(to)
	}
	if was, is := valueWord(from), valueWord(to); was != is {
		return becomesWords(was, is)
	}
	return " becomes another " + kindWord(to)
}

// losesWords says how many entries of all a list loses, and which, if they are short.
func losesWords(lost []stconfig.Value, all int) string {
	text := " loses " + fleet.NumberText(len(lost)) + " of " + fleet.Counted(all, "entry", "entries")
	if json := shortJSON(stconfig.List(lost...)); json != "" {
		text += " (" + json[1:len(json)-1] + ")"
	}
	return text
}

// withoutValues is the verb of a change that is skipped, or whose values were left out because of their size.
func (s *statement) withoutValues() string {
	switch {
	case s.class == plan.Skipped:
		return " is left out"
	case s.takesAway:
		return " is taken away"
	}
	return " becomes another value"
}

func isSecret(v stconfig.Value) bool { return v.Str() == stconfig.MaskedSecret }

func becomesWords(from, to string) string { return " becomes " + to + " instead of " + from }

// valueWord is a short value as JSON, the kind of a long list or object, or the beginning of another long value.
func valueWord(v stconfig.Value) string {
	if text := shortJSON(v); text != "" {
		return text
	}
	switch v.Kind() {
	case stconfig.Array:
		return "a " + kindWord(v)
	case stconfig.Object:
		return "an " + kindWord(v)
	case stconfig.String:
		return strconv.Quote(cut(v.Str(), maxWord))
	}
	return cut(string(v.JSON()), maxWord)
}

// shortJSON is a value as JSON, "" if that has more than maxWord characters.
func shortJSON(v stconfig.Value) string {
	const most = 4 * maxWord // bytes
	if v.JSONSize(most) >= most {
		return ""
	}
	text := string(v.JSON())
	if len([]rune(text)) > maxWord {
		return ""
	}
	return text
}

// kindWord says what a value is.
func kindWord(v stconfig.Value) string {
	switch v.Kind() {
	case stconfig.Array:
		return "list of " + fleet.Counted(v.Len(), "entry", "entries")
	case stconfig.Object:
		return "object of " + fleet.Counted(v.Len(), "field", "fields")
	case stconfig.String:
		return "text"
	}
	return "value"
}

func word(text string) string { return cut(text, maxWord) }

// cut shortens a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most-1]) + "…"
}

// why returns the reason of a change, and who has to answer it, with a semicolon before each.
func (s *statement) why() string {
	because := ""
	if s.reason != "" {
		because = ": " + s.reason
	}
	text := ""
	switch s.class {
	case plan.Held:
		text = "; waits for " + s.waitsFor + because
		if s.hasConsent {
			text = "; consented to" + because
		}
	case plan.Refused:
		text = "; never made" + because
	case plan.Skipped:
		if text = "; left out" + because; s.hasNoValues() {
			text = because
		}
	default:
		if s.reason != "" {
			text = "; " + s.reason
		}
	}
	if s.isReturn && s.class != plan.Skipped && !strings.Contains(s.reason, "no template asks") {
		text += "; no template asks for it any more"
	}
	if s.isDrift {
		text += "; sets right what somebody changed at the daemon"
	}
	return text
}
