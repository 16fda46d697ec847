package fleet

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	laptop = DeviceID("AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA")
	tower  = DeviceID("BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB")
)

func TestAChangeIsCalledAfterWhatItChanges(t *testing.T) {
	now := &Registry{
		Templates: []TaggedTemplate{
			{Template: Template{ID: 1, Label: "Team folder", Op: OpSet, Key: "folders", Text: "{}"}},
			{Template: Template{ID: 2, Op: OpSet, Key: "options"}},
		},
		Devices: map[DeviceID]*Registered{laptop: {Device: Device{ID: laptop, Label: "berlin-7"}}},
	}
	team := now.Templates[0].Template
	with := func(change func(*Template)) []Template {
		changed := team
		change(&changed)
		return []Template{changed}
	}
	onDevices := func(n int) (all []Tagging) {
		for range n {
			all = append(all, Tagging{Tag: "office", Device: laptop})
		}
		return all
	}
	for name, test := range map[string]struct {
		edit Edit
		want string
	}{
		"a tag of a template": {Edit{Tag: []Tagging{{Tag: "site:berlin", Template: 1}}}, "Team folder: site:berlin added"},
		"a template is created": {
			Edit{New: []TaggedTemplate{{Template: Template{Label: "Limit"}, Tags: []Tag{"a", "b"}}}},
			"Limit: created for a, b",
		},
		"one without a label": {
			Edit{New: []TaggedTemplate{{Template: Template{Key: "gui"}}}},
			"a template at gui: created",
		},
		"its text": {Edit{Changed: with(func(t *Template) { t.Text = "{a: 1}" })}, "Team folder: text changed"},
		"its name and priority": {
			Edit{Changed: with(func(t *Template) { t.Label, t.Priority = "Crew", 4 })},
			"Team folder: priority changed, renamed to Crew",
		},
		"deleted, and named":    {Edit{Deleted: []int64{1}}, "Team folder: deleted"},
		"deleted, not named":    {Edit{Deleted: []int64{2}}, "template 2: deleted"},
		"a tag of one device":   {Edit{Untag: onDevices(1)}, string(laptop) + ": office removed"},
		"a tag of 4000 devices": {Edit{Tag: onDevices(4000)}, "office: added to 4,000 devices"},
		"a deleted tag":         {Edit{Drop: []Tag{"office"}}, "tag office: deleted"},
		"vars of a tag": {
			Edit{Vars: []VarsChange{{VarsOwner: VarsOwner{Tag: "office"}}}},
			"tag office: vars changed",
		},
		"a deleted device":  {Edit{Remove: []DeviceID{laptop}}, "berlin-7 (" + string(laptop) + "): deleted"},
		"an unnamed device": {Edit{Remove: []DeviceID{tower}}, string(tower) + ": deleted"},
		"a revoked device":  {Edit{Revoke: []Revocation{{Device: laptop}}}, string(laptop) + ": revoked"},
		"an enrolment": {Edit{Enroll: &Enrollment{Device: Device{ID: laptop}, Tags: []Tag{"new"}}},
			string(laptop) + ": enrolled with new"},
		"two things of a template": {Edit{Changed: with(func(t *Template) { t.Key = "gui" }),
			Tag: []Tagging{{Tag: "a", Template: 1}}, Untag: []Tagging{{Tag: "b", Template: 1}}},
			"Team folder: key changed, a added, b removed"},
		"many things": {Edit{Drop: []Tag{"a", "b", "c"}, Deleted: []int64{1, 2}, Remove: []DeviceID{laptop}},
			"Team folder: deleted; template 2: deleted; 3 more tags; 1 more device"},
		"an undo": {Edit{Undo: &Undo{Rollout: Rollout{ID: 7, Cause: "Team folder: deleted"}}},
			"rollout 7 undone: Team folder: deleted"},
		"what a person wrote": {Edit{Deleted: []int64{1}, Message: "Berlin moves out"}, "Berlin moves out"},
	} {
		if got := test.edit.Titled(now).Title; got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// A title is one line of the length of a message, whatever the things are called that it names.
func TestATitleIsOneShortLine(t *testing.T) {
	long := strings.Repeat("ä", 190)
	edit := Edit{New: []TaggedTemplate{{Template: Template{Label: long}, Tags: []Tag{"next\u2028line", "\u202eturned"}}}}
	title := edit.Titled(&Registry{}).Title
	if err := CheckMessage(title); err != nil || utf8.RuneCountInString(title) != MaxMessage {
		t.Errorf("got %q of %d characters, %v", title, utf8.RuneCountInString(title), err)
	}
}

func TestAMessageIsOneLineOfText(t *testing.T) {
	for text, fine := range map[string]bool{
		"":                           true,
		"Berlin moves out":           true,
		"<script>alert(1)</script>":  true, // it is shown as text
		strings.Repeat("ä", 200):     true,
		strings.Repeat("ä", 201):     false,
		"  ":                         false,
		"two\nlines":                 false,
		"a tab\there":                false,
		"a terminal \x1b[31m is red": false,
		"turned \u202e round":        false,
		"a paragraph\u2029":          false,
		"no text \xff":               false,
		"\u200b":                     false, // It shows nothing.
		"\u3164":                     false,
		"\u2800\u00a0":               false,
		"pay\u200bload":              false,
		"\ufeffwith a mark":          false,
		"two\u2060words":             false,
		"a\U000e0061\U000e007f":      false,
		"\u200c":                     false,
		"\u06a9\u062a\u0627\u0628\u200c\u0647\u0627": true, // Persian
		"\U0001f469\u200d\U0001f680 moves":           true, // one sign of two
		"\u2764\ufe0f":                               true,
	} {
		if got := CheckMessage(text) == nil; got != fine {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
