package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// sentenceDevices are the devices of these tests by label.
var sentenceDevices = func() map[string]fleet.DeviceID {
	all := map[string]fleet.DeviceID{}
	for i, name := range []string{"nas", "berlin-1", "berlin-2", "berlin-3", "oslo", "stranger"} {
		all[name] = fleet.DeviceIDOf([32]byte{byte(i)})
	}
	return all
}()

// sentenceLabel knows all but the stranger.
func sentenceLabel(id fleet.DeviceID) string {
	for name, known := range sentenceDevices {
		if known == id && name != "stranger" {
			return name
		}
	}
	return ""
}

// withIDs puts IDs in the place of <label>.
func withIDs(text string) string {
	for name, id := range sentenceDevices {
		text = strings.ReplaceAll(text, "<"+name+">", string(id))
	}
	return text
}

// failer is a test, also of random input.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func madeChange(t failer, c plan.Change, key, from, to string) plan.Change {
	t.Helper()
	parsed, err := stconfig.ParseKey(withIDs(key))
	if err != nil {
		t.Fatal(err)
	}
	value := func(text string) (v stconfig.Value) {
		if text == "" {
			return v
		}
		v, err := stconfig.Parse([]byte(withIDs(text)))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return v
	}
	c.Key, c.From, c.To = parsed, value(from), value(to)
	if c.Class == "" {
		c.Class = plan.Free
	}
	return c
}

// plannedText is what one device of a test plans: key, old and new value.
type plannedText struct {
	device, key, from, to string
	change                plan.Change
	dropped               bool
}

func summaryOf(t failer, planned ...plannedText) Summary {
	t.Helper()
	brings, drops := map[string][]plan.Change{}, map[string][]plan.Change{}
	var order []string
	for _, p := range planned {
		if !slices.Contains(order, p.device) {
			order = append(order, p.device)
		}
		into := brings
		if p.dropped {
			into = drops
		}
		into[p.device] = append(into[p.device], madeChange(t, p.change, p.key, p.from, p.to))
	}
	sum := NewSentenceSum(sentenceLabel)
	for _, device := range order {
		sum.Add(sentenceDevices[device], brings[device], drops[device])
	}
	return sum.Summary()
}

// teamFolder is a folder in a daemon's words, shared with devices.
func teamFolder(more string, shared ...string) string {
	shares := make([]string, len(shared))
	for i, label := range shared {
		shares[i] = fmt.Sprintf(`{"deviceID": "<%s>", "introducedBy": "", "encryptionPassword": ""}`, label)
	}
	return fmt.Sprintf(`{"id": "team", "label": "Team", "path": "~/Team", "type": "sendreceive"%s, "devices": [%s]}`, more,
		strings.Join(shares, ","))
}

func entryOf(label, more string) string {
	return fmt.Sprintf(
		`{"deviceID": "<%s>", "name": %q%s, "addresses": ["dynamic"], "compression": "metadata"}`,
		label,
		label,
		more,
	)
}

// sentenceCase is a plan, and the texts of all its sentences.
type sentenceCase struct {
	name    string
	planned []plannedText
	want    []string
	removal string
}

func testSentences(t *testing.T, cases []sentenceCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := summaryOf(t, tc.planned...)
			texts, changes := []string{}, 0
			for _, s := range got.Sentences {
				texts = append(texts, s.Text)
				changes += s.Changes
			}
			if !slices.Equal(texts, tc.want) || got.Removal != tc.removal || changes != len(tc.planned) {
				t.Errorf("got %d changes of %d, %q:\n%s\nwant %q:\n%s", changes, len(tc.planned), got.Removal,
					strings.Join(texts, "\n"), tc.removal, strings.Join(tc.want, "\n"))
			}
		})
	}
}

func TestAPlanIsSaidInSentences(t *testing.T) {
	held := func(reason string) plan.Change { return plan.Change{Class: plan.Held, Reason: reason} }
	everyone := []string{"nas", "berlin-1", "berlin-2"}
	var mesh, spokes []plannedText
	for _, device := range everyone {
		mesh = append(mesh, plannedText{device: device, key: "folders.team", to: teamFolder("", everyone...)})
		for _, other := range everyone {
			if other != device {
				mesh = append(mesh, plannedText{device: device, key: "devices.<" + other + ">", to: entryOf(other, ""),
					change: plan.Change{Class: plan.Implied, Reason: "a shared folder needs it"}})
			}
		}
		shared := []string{"nas", device}
		if device == "nas" {
			shared = everyone
		}
		spokes = append(spokes, plannedText{device: device, key: "folders.team", to: teamFolder("", shared...)})
	}
	testSentences(t, []sentenceCase{
		{name: "everyone with everyone", planned: mesh, removal: "Nothing is removed.", want: []string{
			"Team (~/Team) is added on 3 devices, shared among all of them",
			"3 devices get to know each other; a shared folder needs it",
		}},
		{name: "hub and spokes", planned: spokes, removal: "Nothing is removed.", want: []string{
			"Team (~/Team) is added on 2 devices, shared with nas",
			"Team (~/Team) is added on nas, shared with berlin-1 and berlin-2",
		}},
		{name: "with nobody", removal: "Nothing is removed.", planned: []plannedText{
			{device: "nas", key: "folders.team", to: teamFolder(`, "paused": true, "rescanIntervalS": 77`, "nas")},
		}, want: []string{"Team (~/Team) is added on nas, shared with nobody, paused, sets rescanIntervalS"}},
		{name: "encrypted for one of them", removal: "Nothing is removed.", planned: []plannedText{
			{device: "oslo", key: "folders.team", to: `{"id": "team", "path": "/t", "type": "sendonly", "devices": [
				{"deviceID": "<oslo>", "encryptionPassword": ""}, {"deviceID": "<nas>", "encryptionPassword": "hush"},
				{"deviceID": "<berlin-1>", "encryptionPassword": ""}]}`},
		}, want: []string{"team (/t) is added on oslo, shared with berlin-1 and nas, encrypted for 1 of them, send only"}},
		{name: "a limit", removal: "Nothing is removed.", planned: []plannedText{
			{device: "nas", key: "options.maxSendKbps", from: "0", to: "2000"},
			{device: "oslo", key: "options.maxSendKbps", from: "0", to: "2000"},
			{device: "berlin-1", key: "options.maxSendKbps", from: "100", to: "2000"},
		}, want: []string{"options.maxSendKbps becomes 2000 instead of 0 on 2 devices",
			"options.maxSendKbps becomes 2000 instead of 100 on berlin-1"}},
		{name: "a removal that waits comes first", removal: "2 changes take something away.", planned: []plannedText{
			{device: "nas", key: "options.natEnabled", from: "true", to: "false"},
			{device: "nas", key: "folders.team", from: teamFolder("", "nas", "oslo"), change: held("its files stay there")},
			{device: "oslo", key: "folders.team", from: teamFolder("", "nas", "oslo"), change: held("its files stay there")},
		}, want: []string{"Team (~/Team) is removed from 2 devices (its files stay), where it is shared among all of them; " +
			"waits for an operator: its files stay there",
			"options.natEnabled becomes false instead of true on nas"}},
		{name: "what an admin answers", removal: "Nothing is removed.", planned: []plannedText{
			{device: "nas", key: "gui.address", from: `"127.0.0.1:8384"`, to: `"0.0.0.0:8384"`, change: held("it would move")},
			{device: "nas", key: "gui.apiKey", from: `"hush-1"`, to: `"hush-2"`, change: plan.Change{Class: plan.Refused,
				Reason: "never"}},
		}, want: []string{"gui.apiKey becomes another secret on nas; never made: never",
			"gui.address becomes \"0.0.0.0:8384\" instead of \"127.0.0.1:8384\" on nas; waits for an admin: it would move"}},
		{name: "folders paused and of another type", removal: "Nothing is removed.", planned: []plannedText{
			{device: "nas", key: "folders.team.paused", from: "false", to: "true"},
			{device: "oslo", key: "folders.team.paused", from: "true", to: "false"},
			{device: "oslo", key: "folders.team.type", from: `"sendreceive"`, to: `"receiveonly"`},
			{device: "oslo", key: "folders.team.versioning.type", from: `""`, to: `"trashcan"`},
		}, want: []string{"Folder team becomes receive only instead of send and receive on oslo",
			"Folder team is paused on nas", "Folder team is resumed on oslo",
			"Folder team: versioning.type becomes \"trashcan\" instead of \"\" on oslo"}},
		{name: "shares", removal: "1 change takes something away.", planned: []plannedText{
			{device: "nas", key: "folders.team.devices.<oslo>", to: `{"deviceID": "<oslo>"}`},
			{device: "berlin-1", key: "folders.team.devices.<oslo>", to: `{"deviceID": "<oslo>"}`},
			{device: "berlin-1", key: "folders.team.devices.<stranger>", from: `{"deviceID": "<stranger>"}`},
		}, want: []string{"Folder team is no longer shared with " + sentenceDevices["stranger"].Short() + ", on berlin-1",
			"Folder team is shared with oslo too, on 2 devices"}},
		{name: "entries of others", removal: "1 change takes something away.", planned: []plannedText{
			{device: "nas", key: "devices.<oslo>.compression", from: `"metadata"`, to: `"always"`},
			{device: "berlin-1", key: "devices.<oslo>.compression", from: `"metadata"`, to: `"always"`},
			{device: "oslo", key: "devices.<oslo>.name", from: `"a"`, to: `"oslo"`},
			{device: "oslo", key: "devices.<nas>", from: entryOf("nas", ""), change: plan.Change{Class: plan.Implied,
				Reason: "no shared folder needs it any more"}},
		}, want: []string{"Entry of oslo: compression becomes \"always\" instead of \"metadata\" on 2 devices",
			"Its entry of itself: name becomes \"oslo\" instead of \"a\" on oslo",
			"oslo no longer knows nas; no shared folder needs it any more"}},
		{name: "no longer planned, and left out", removal: "Nothing is removed.", planned: []plannedText{
			{device: "nas", key: "options.natEnabled", from: "true", to: "false", dropped: true},
			{device: "nas", key: "ignores.new", change: plan.Change{Class: plan.Skipped, Reason: "not there yet"}},
		}, want: []string{"No longer planned: options.natEnabled becomes false instead of true on nas",
			"The list of ignore patterns of folder new is left out on nas: not there yet"}},
		{name: "drift and a return to base", removal: "Nothing is removed.", planned: []plannedText{
			{device: "nas", key: "options.natEnabled", from: "true", to: "false", change: plan.Change{Drift: true}},
			{device: "nas", key: "options.urAccepted", from: "3", to: "-1", change: plan.Change{Returns: true}},
		}, want: []string{
			"options.natEnabled becomes false instead of true on nas; sets right what somebody changed at the daemon",
			"options.urAccepted becomes -1 instead of 3 on nas; no template asks for it any more"}},
	})
}

func TestNothingIsSaidToBeKeptOfDevicesWithoutAPlan(t *testing.T) {
	sum := NewSentenceSum(sentenceLabel)
	sum.Add(
		sentenceDevices["oslo"],
		[]plan.Change{madeChange(t, plan.Change{}, "options.natEnabled", "true", "false")},
		nil,
	)
	sum.Fail(sentenceDevices["nas"], "line 3: no such name", false)
	sum.Fail(sentenceDevices["berlin-1"], "line 3: no such name", false)
	sum.Unread(sentenceDevices["stranger"])
	got := sum.Summary()
	if len(got.Sentences) != 3 || got.Sentences[0].Text != "No plan can be made for 2 devices: line 3: no such name" ||
		got.Sentences[1].Kind != SentenceUnread ||
		got.Sentences[1].Text != sentenceDevices["stranger"].Short()+
			" was never read: what would change there is not known" ||
		!slices.Equal(got.Sentences[0].Labels, []string{"berlin-1", "nas"}) ||
		got.Removal != "Nothing is removed where a plan could be made." {
		t.Errorf("got %+v", got)
	}
}

func TestSentencesThatAreTooManyAreCounted(t *testing.T) {
	var planned []plannedText
	for i := range maxSentences + 7 {
		planned = append(
			planned,
			plannedText{device: []string{"nas", "oslo"}[i%2], key: fmt.Sprintf("folders.f%03d.order", i),
				from: `"random"`, to: `"alphabetic"`},
		)
	}
	got := summaryOf(t, planned...)
	if len(got.Sentences) != maxSentences || got.MoreChanges != 7 || got.MoreDevices != 2 {
		t.Errorf("got %d sentences, %d more changes on %d devices", len(got.Sentences), got.MoreChanges, got.MoreDevices)
	}
}

// randomChange is a change of a random plan, as the model of this test sees it.
type randomChange struct {
	form     int // folder added, folder removed, share added, entry added, value
	name     string
	peers    []string // sorted; without the device itself
	from, to int
	change   plan.Change
	dropped  bool
}

const randomForms = 5

func randomChanges(t *rapid.T, device string) []randomChange {
	others := []string{"nas", "berlin-1", "berlin-2", "stranger"}
	others = slices.DeleteFunc(others, func(other string) bool { return other == device })
	slices.Sort(others)
	var all []randomChange
	used := map[string]bool{}
	for range rapid.IntRange(1, 8).Draw(t, "changes") {
		c := randomChange{form: rapid.IntRange(0, randomForms-1).Draw(t, "form"),
			name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), from: rapid.IntRange(1, 2).Draw(t, "from"),
			to: rapid.IntRange(3, 4).Draw(t, "to"), dropped: rapid.Bool().Draw(t, "dropped")}
		c.change = plan.Change{
			Class:   rapid.SampledFrom([]plan.Class{plan.Free, plan.Held, plan.Refused}).Draw(t, "class"),
			Reason:  rapid.SampledFrom([]string{"", "because"}).Draw(t, "reason"),
			Drift:   rapid.Bool().Draw(t, "drift"),
			Returns: rapid.Bool().Draw(t, "returns"), Consented: rapid.Bool().Draw(t, "consented")}
		if c.form == 2 || c.form == 3 {
			c.peers = []string{rapid.SampledFrom(others).Draw(t, "peer")}
		} else if c.form < 2 {
			c.peers = rapid.SliceOfNDistinct(rapid.SampledFrom(others), 0, len(others), rapid.ID[string]).Draw(t, "peers")
			slices.Sort(c.peers)
		}
		key, _, _ := c.texts(device)
		if !used[key] {
			used[key] = true
			all = append(all, c)
		}
	}
	return all
}

// texts are the key and the values of a change on a device.
func (c randomChange) texts(device string) (key, from, to string) {
	folder := func(number int) string {
		return teamFolder(fmt.Sprintf(`, "order": "o%d"`, number), append(slices.Clone(c.peers), device)...)
	}
	switch c.form {
	case 0:
		return "folders." + c.name, "", folder(c.to)
	case 1:
		return "folders." + c.name, folder(c.from), ""
	case 2:
		return "folders." + c.name + ".devices.<" + c.peers[0] + ">", "", `{"deviceID": "<` + c.peers[0] + `>"}`
	case 3:
		return "devices.<" + c.peers[0] + ">", "", entryOf(c.peers[0], fmt.Sprintf(`, "maxSendKbps": %d`, c.to))
	}
	return "options." + c.name, fmt.Sprint(c.from), fmt.Sprint(c.to)
}

// equalChanges reports whether one sentence may say both: the same happens, and the devices name the same others, or
// each other and the same others.
func equalChanges(a randomChange, of string, b randomChange, ofB string) bool {
	from := a.form == 1 || a.form == 4
	to := a.form == 0 || a.form == 3 || a.form == 4
	consented := a.change.Class != plan.Held || a.change.Consented == b.change.Consented
	if a.form != b.form || a.form != 3 && a.name != b.name ||
		from && a.from != b.from || to && a.to != b.to || !consented ||
		a.change.Class != b.change.Class || a.change.Reason != b.change.Reason ||
		a.change.Drift != b.change.Drift ||
		a.change.Returns != b.change.Returns ||
		a.dropped != b.dropped {
		return false
	}
	with := func(peers []string, device string) []string {
		all := append(slices.Clone(peers), device)
		slices.Sort(all)
		return all
	}
	return slices.Equal(a.peers, b.peers) || slices.Equal(with(a.peers, of), with(b.peers, ofB))
}

func TestEveryChangeIsCountedOnceAndOnlyEqualOnesTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type placed struct {
			device string
			change randomChange
		}
		var all []placed
		for _, device := range []string{"nas", "berlin-1", "berlin-2"} {
			for _, c := range randomChanges(t, device) {
				all = append(all, placed{device, c})
			}
		}
		textOf := func(p placed) plannedText {
			key, from, to := p.change.texts(p.device)
			return plannedText{device: p.device, key: key, from: from, to: to, change: p.change.change,
				dropped: p.change.dropped}
		}
		var planned []plannedText
		for _, p := range all {
			planned = append(planned, textOf(p))
		}
		whole := summaryOf(t, planned...)
		counted := whole.MoreChanges
		for _, s := range whole.Sentences {
			counted += s.Changes
			if s.Devices < len(s.Labels) || s.Changes < s.Devices || s.Text == "" || s.Subject == "" {
				t.Fatalf("got %+v", s)
			}
		}
		if counted != len(all) {
			t.Fatalf("%d of %d changes are counted: %+v", counted, len(all), whole)
		}
		for i, a := range all {
			for _, b := range all[:i] {
				if a.device == b.device {
					continue
				}
				want := 2
				if equalChanges(a.change, a.device, b.change, b.device) {
					want = 1
				}
				if got := summaryOf(t, textOf(a), textOf(b)); len(got.Sentences) != want {
					t.Fatalf("got %d sentences for %+v and %+v, want %d: %+v", len(got.Sentences), a, b, want, got)
				}
			}
		}
		slices.Reverse(planned)
		if again := summaryOf(t, planned...); fmt.Sprint(again) != fmt.Sprint(whole) {
			t.Fatalf("another order of devices gives\n%v\nnot\n%v", again, whole)
		}
	})
}

// partly is said of plans of which a part is not known.
const partly = "Nothing is removed in what is shown here; not everything is."

func TestAGroupOfHeldChangesIsSaid(t *testing.T) {
	held := func(device, digest, key, from, to string) fleet.HeldChange {
		return fleet.HeldChange{
			Device: sentenceDevices[device],
			Digest: digest,
			Key:    withIDs(key),
			From:   []byte(withIDs(from)),
			To:     []byte(withIDs(to)),
			Reason: "because",
		}
	}
	for _, tc := range []struct {
		name    string
		group   fleet.HeldGroup
		want    string
		kind    SentenceKind
		removal string
	}{
		{"a removal", fleet.HeldGroup{Consent: true, Keep: true, Removes: true, Changes: []fleet.HeldChange{
			held("nas", "d1", "folders.team", teamFolder("", "nas", "oslo"), "null"),
			held("oslo", "d2", "folders.team", teamFolder("", "nas", "oslo"), "null")}},
			"Team (~/Team) is removed from 2 devices (its files stay), where it is shared among all of them; waits for an " +
				"operator: because; no template asks for it any more", SentenceRemoved, "2 changes take something away."},
		{"a removal that is too large to list", fleet.HeldGroup{Consent: true, Removes: true, Changes: []fleet.HeldChange{
			held("nas", "", "folders.team", "", "")}}, "Folder team is taken away on nas; waits for an operator: because",
			SentenceRemoved, "1 change takes something away."},
		{"a value that is too large to be listed", fleet.HeldGroup{Consent: true, Changes: []fleet.HeldChange{
			held("nas", "", "folders.team", "", "")}}, "Folder team becomes another value on nas; waits for an admin: because",
			SentenceChanged, partly},
		{"a place below a folder without its values", fleet.HeldGroup{Consent: true, Changes: []fleet.HeldChange{
			held("nas", "", "folders.team.path", "", "")}},
			"Folder team: path becomes another value on nas; waits for an admin: because", SentenceChanged, partly},
		{"a folder's type without its values", fleet.HeldGroup{Consent: true, Changes: []fleet.HeldChange{
			held("nas", "", "folders.team.type", "", "")}},
			"Folder team: type becomes another value on nas; waits for an admin: because", SentenceChanged, partly},
		{"nothing but to keep", fleet.HeldGroup{Keep: true, Changes: []fleet.HeldChange{
			held("nas", "d1", "gui.password", `"[secret]"`, `"[secret]"`)}},
			"gui.password becomes another secret on nas; waits for an answer: because; no template asks for it any more",
			SentenceChanged, "Nothing is removed."},
	} {
		got := SentencesOfHeld(tc.group, sentenceLabel)
		if len(got.Sentences) != 1 || got.Sentences[0].Text != tc.want || got.Removal != tc.removal ||
			got.Sentences[0].Kind != tc.kind || got.Sentences[0].Changes != len(tc.group.Changes) {
			t.Errorf("%s: got %+v, want %q", tc.name, got, tc.want)
		}
	}
}

// A secret is neither said nor told apart from other secrets: that would answer guesses.
func TestSecretsAreNotInSentences(t *testing.T) {
	got := summaryOf(t,
		plannedText{device: "nas", key: "gui.password", from: `"hush-1"`, to: `"hush-2"`},
		plannedText{device: "oslo", key: "gui.password", from: `"hush-1"`, to: `"hush-3"`},
		plannedText{device: "berlin-1", key: "folders.team.devices.<nas>.encryptionPassword", from: `""`, to: `"hush-4"`},
		plannedText{device: "berlin-1", key: "gui", from: `{"apiKey": "hush-5"}`, to: `{"apiKey": "hush-6"}`},
	)
	if text := fmt.Sprintf("%+v", got); strings.Contains(text, "hush") || len(got.Sentences) != 3 ||
		!strings.Contains(text, "gui.password becomes another secret on 2 devices") {
		t.Errorf("got %s", text)
	}
}

// TestDevicesThatKnowSomeOfTheOthersAreOneSentence covers a folder that 30 devices share, of which some knew each
// other: 12 sentences said that each of them gets to know the rest.
func TestDevicesThatKnowSomeOfTheOthersAreOneSentence(t *testing.T) {
	implied := plan.Change{Class: plan.Implied, Reason: "a shared folder needs it"}
	var planned []plannedText
	for device, others := range map[string][]string{"nas": {"oslo", "berlin-1", "berlin-2"}, "oslo": {"nas", "berlin-3"},
		"berlin-1": {"nas", "berlin-3"}, "berlin-2": {"nas", "berlin-3", "oslo"}, "berlin-3": {"stranger"}} {
		for _, other := range others {
			planned = append(planned, plannedText{device: device, key: "devices.<" + other + ">", to: entryOf(other, ""),
				change: implied})
		}
	}
	got := summaryOf(t, planned...)
	if len(got.Sentences) != 2 || got.Sentences[0].Changes != 10 ||
		got.Sentences[0].Text != "4 devices get to know 2 to 3 others each; a shared folder needs it" ||
		got.Sentences[1].Text != "berlin-3 gets to know stranger; a shared folder needs it" {
		t.Errorf("got %+v", got)
	}
}
