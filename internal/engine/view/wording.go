package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
)

const (
	namedInText = 3  // Other devices that a text names.
	maxWord     = 60 // Characters of a value or a name.
)

// words are a statement in words, but for the devices.
type words struct {
	form    sentenceForm
	kind    SentenceKind
	class   plan.Class
	subject string // Like "Team (~/Team)" or "options.natEnabled".
	field   string // Names below a device entry or share.
	verb    string // What happens to a value.
	detail  string // What sets a new folder or device apart.
	why     string // Why it is done, or not done.
	made    bool   // The change is made, at once or after an answer.
	gone    bool   // The place is empty afterwards.
}

// sentenceForm is how a sentence is built.
type sentenceForm int

const (
	formValue       sentenceForm = iota // A value becomes another value.
	formFolder                          // A whole folder comes or goes.
	formShare                           // A share comes or goes.
	formEntry                           // A device gets to know another device, or no longer knows it.
	formFieldOfPeer                     // A value changes in the entry or share of another device.
)

// words puts a statement into words.
func (s *statement) words() words {
	w := words{kind: s.kind(), class: s.class, why: s.why(), gone: s.from.Exists() && !s.to.Exists(),
		made: s.isMade()}
	switch {
	case s.key.Len() == 0:
		w.subject = "The whole configuration"
	case s.shares:
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
	w.subject = cut(w.subject, 2*maxWord)
	if w.verb == "" {
		w.verb = s.becomes()
	}
	return w
}

func (s *statement) kind() SentenceKind {
	switch {
	case s.dropped:
		return SentenceDropped
	case !s.to.Exists() && s.from.Exists():
		return SentenceRemoved
	case !s.from.Exists() && s.to.Exists():
		return SentenceAdded
	}
	return SentenceChanged
}

// inFolder words what happens inside a folder.
func (s *statement) inFolder(w *words) {
	if s.key.Len() == 1 {
		w.subject = s.key.String()
		return
	}
	w.subject = "Folder " + word(s.key.At(1).Name)
	isShare := s.key.Len() >= 4 && strings.EqualFold(s.key.At(2).Name, "devices")
	switch {
	case isShare && s.own:
		w.subject += ", the own share" + below(s.key, 4)
	case isShare && s.key.Len() == 4 && s.from.Exists() != s.to.Exists():
		w.form = formShare
		w.detail = s.also(s.to)
	case isShare:
		w.form, w.subject, w.field = formFieldOfPeer, w.subject+", share of ", below(s.key, 4)
	case s.isField("paused") && s.to.IsTrue():
		w.verb = " is paused"
	case s.isField("paused") && s.to.Exists():
		w.verb = " is resumed"
	case s.isField("type"):
		w.verb = becomesWords(folderType(s.from), folderType(s.to))
	case s.key.Len() > 2:
		w.subject += ": " + strings.TrimPrefix(below(s.key, 2), " ")
	}
}

// ofEntry words what happens to an entry in the daemon's list of devices.
func (s *statement) ofEntry(w *words) {
	switch {
	case s.own:
		w.subject = "The own entry" + below(s.key, 2)
	case s.key.Len() == 2 && s.from.Exists() != s.to.Exists():
		w.form, w.subject = formEntry, "devices"
		w.detail = s.also(s.to)
	default:
		w.form, w.subject, w.field = formFieldOfPeer, "Entry of ", below(s.key, 2)
	}
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
	return " " + strings.Join(names, ".")
}

// folder names a whole folder, and says what sets it apart.
func (s *statement) folder() (name, detail string) {
	folder := s.to
	if !folder.Exists() {
		folder = s.from
	}
	name = word(cmp.Or(folder.Get("label").Str(), s.key.At(1).Name))
	if path := folder.Get("path").Str(); path != "" {
		name += " (" + word(path) + ")"
	}
	if kind := folder.Get("type"); kind.Exists() {
		detail = ", " + folderType(kind)
	}
	if folder.Get("paused").IsTrue() {
		detail += ", paused"
	}
	return name, detail + s.also(folder, "id", "label", "path", "type", "paused")
}

// also lists the other fields that a new folder or device entry sets.
func (s *statement) also(value stconfig.Value, but ...string) string {
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
	case !to.Exists() && from.Exists():
		return " is taken away (it is " + valueWord(from) + ")"
	case !from.Exists() && to.Exists():
		return " becomes " + valueWord(to)
	case !to.Exists():
		return s.withoutValues()
	}
	if isSecret(from) && isSecret(to) {
		return " becomes another secret"
	}
	return becomesWords(valueWord(from), valueWord(to))
}

// withoutValues words a change that is skipped, or whose values are too large to be in a list.
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

// valueWord is a value on one line, or what it is.
func valueWord(v stconfig.Value) string {
	const most = 4 * maxWord // bytes
	if v.JSONSize(most) < most {
		if text := string(v.JSON()); len([]rune(text)) <= maxWord {
			return text
		}
	}
	switch v.Kind() {
	case stconfig.Array:
		return "a list of " + strconv.Itoa(v.Len())
	case stconfig.Object:
		return fmt.Sprintf("an object of %d fields", v.Len())
	case stconfig.String:
		return strconv.Quote(cut(v.Str(), maxWord))
	}
	return cut(string(v.JSON()), maxWord)
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

// why says why a change is not simply done, or why it is done.
func (s *statement) why() string {
	because := ""
	if s.reason != "" {
		because = ": " + s.reason
	}
	text := ""
	switch s.class {
	case plan.Held:
		text = "; waits for " + s.waitsFor + because
		if s.sent {
			text = "; consented to" + because
		}
	case plan.Refused:
		text = "; never made" + because
	case plan.Skipped:
		if text = "; left out" + because; !s.to.Exists() && !s.from.Exists() {
			text = because
		}
	default:
		if s.reason != "" {
			text = "; " + s.reason
		}
	}
	if s.returns && s.class != plan.Skipped && !strings.Contains(s.reason, "no template asks") {
		text += "; no template asks for it any more"
	}
	if s.drift {
		text += "; sets right what somebody changed at the daemon"
	}
	return text
}
