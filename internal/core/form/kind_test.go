package form_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"muster/internal/core/form"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

func TestAFormIsReadAgainFromTheTextThatItWrites(t *testing.T) {
	for _, kind := range form.Kinds() {
		for seed := range *cases {
			filled := randomFilled(t, kind, rand.New(rand.NewPCG(seed, 74)))
			written := filled.Write()
			again, isForm := form.Read(stored(written))
			if !isForm {
				t.Fatalf("%s, seed %d: it is no form:\n%s", kind.Name, seed, written.Text)
			}
			if got := again.(form.Filled); got.Kind != kind || !maps.EqualFunc(got.Values, filled.Values, slices.Equal) {
				t.Fatalf("%s, seed %d: got %v, want %v\n%s", kind.Name, seed, got.Values, filled.Values, written.Text)
			}
			if _, err := template.Compile(written.Text); err != nil {
				t.Fatalf("%s, seed %d: %v\n%s", kind.Name, seed, err, written.Text)
			}
		}
	}
}

// A template that a person changed in one character is either the same form with other values, or no form.
func TestAFormDoesNotClaimATextThatItWouldNotWrite(t *testing.T) {
	for _, kind := range form.Kinds() {
		for seed := range *cases {
			random := rand.New(rand.NewPCG(seed, 75))
			written := randomFilled(t, kind, random).Write()
			edited := stored(written)
			at := random.IntN(len(edited.Text))
			edited.Text = written.Text[:at] + one(random, []string{"", "x", "\n", "9"}) + written.Text[at+1:]
			again, isForm := form.Read(edited)
			if isForm && again.Write().Text != edited.Text {
				t.Fatalf("%s, seed %d: the form shows another text than\n%s", kind.Name, seed, edited.Text)
			}
			edited = stored(written)
			edited.Text += "# A note.\n"
			if _, isForm := form.Read(edited); isForm || !form.Edited(edited) {
				t.Fatalf("%s, seed %d: it is a form in spite of a further line", kind.Name, seed)
			}
			edited = stored(written)
			edited.Key += "x"
			if _, isForm := form.Read(edited); isForm {
				t.Fatalf("%s, seed %d: it is a form with another key", kind.Name, seed)
			}
		}
	}
}

// Another tag is another value of the form, since the tags of a template are nowhere in its text.
func TestATemplateWithOneTagMoreIsTheSameForm(t *testing.T) {
	filled := fill(t, "limits", form.Values{"tags": {"b"}, "send": {"2 MB/s"}})
	tagged := stored(filled.Write())
	tagged.Tags = append(tagged.Tags, "a")
	again, isForm := form.Read(tagged)
	if !isForm || !slices.Equal(again.(form.Filled).Values["tags"], []string{"a", "b"}) {
		t.Errorf("got %v, %v", again, isForm)
	}
}

// What a template gives is what the form says.
func TestTheTemplateOfAFormGivesWhatWasFilledIn(t *testing.T) {
	for _, c := range []struct {
		kind     string
		values   form.Values
		op       fleet.Op
		key      string
		want     any
		contains string
	}{
		{"limits", form.Values{"send": {"2 MB/s"}, "receive": {"16 Mbit/s"}, "lan": {"off"}}, fleet.OpMerge, "options",
			map[string]any{"maxSendKbps": 1953, "maxRecvKbps": 1953, "limitBandwidthInLan": false}, `# send: "2 MB/s"`},
		{"limits", form.Values{"send": {"no limit"}}, fleet.OpMerge, "options", map[string]any{"maxSendKbps": 0}, ""},
		{"limits", form.Values{"receive": {"500 KiB/s"}, "lan": {"on"}}, fleet.OpMerge, "options",
			map[string]any{"maxRecvKbps": 500, "limitBandwidthInLan": true}, ""},
		{"versioning", form.Values{}, fleet.OpMerge, "folders.*.versioning",
			map[string]any{"type": "trashcan", "params": map[string]any{"cleanoutDays": "30"}}, ""},
		{"versioning", form.Values{"folder": {"a.b"}, "type": {"simple"}, "keep": {"7"}, "days": {"0"}}, fleet.OpMerge,
			`folders."a.b".versioning`,
			map[string]any{"type": "simple", "params": map[string]any{"keep": "7", "cleanoutDays": "0"}}, ""},
		{"versioning", form.Values{"type": {"staggered"}}, fleet.OpMerge, "folders.*.versioning",
			map[string]any{"type": "staggered", "params": map[string]any{"maxAge": "31536000"}}, ""},
		{"versioning", form.Values{"type": {"external"}, "command": {`keep "%FILE_PATH%"`}}, fleet.OpMerge,
			"folders.*.versioning",
			map[string]any{"type": "external", "params": map[string]any{"command": `keep "%FILE_PATH%"`}}, ""},
		{"versioning", form.Values{"type": {"none"}}, fleet.OpMerge, "folders.*.versioning", map[string]any{"type": ""}, ""},
		{"ignores", form.Values{"folder": {"photos"}, "patterns": {"(?d).DS_Store", "*.tmp"}}, fleet.OpAppend,
			"ignores.photos", []any{"(?d).DS_Store", "*.tmp"}, ""},
		{"ignores", form.Values{"folder": {"photos"}, "patterns": {"x"}, "how": {"replace"}}, fleet.OpSet,
			"ignores.photos", []any{"x"}, ""},
		{"network", form.Values{"global": {"off"}, "local": {"on"}, "relays": {"off"}, "nat": {"off"}}, fleet.OpMerge,
			"options", map[string]any{"globalAnnounceEnabled": false, "localAnnounceEnabled": true, "relaysEnabled": false,
				"natEnabled": false}, ""},
		{"setting", form.Values{"key": {"Options.maxfolderconcurrency"}, "value": {"2"}}, fleet.OpSet,
			"options.maxFolderConcurrency", 2, ""},
		{"setting", form.Values{"key": {"folders.photos.paused"}, "value": {"true"}}, fleet.OpSet, "folders.photos.paused",
			true, ""},
		{"setting", form.Values{"key": {"options.listenAddresses"}, "value": {"tcp://:22000", "default"}}, fleet.OpSet,
			"options.listenAddresses", []any{"tcp://:22000", "default"}, ""},
		{"setting", form.Values{"key": {"gui.theme"}, "value": {"dark"}}, fleet.OpSet, "gui.theme", "dark", ""},
	} {
		c.values["tags"] = []string{"team"}
		written := fill(t, c.kind, c.values).Write()
		value := evaluated(t, written.Text, template.Facts{DeviceID: fleet.DeviceIDOf([32]byte{1})})
		if written.Op != c.op || written.Key != c.key || !value.Equal(valueOf(c.want)) ||
			!strings.Contains(written.Text, c.contains) {
			t.Errorf("%s, %v: got %s %s\n%s", c.kind, c.values, written.Op, written.Key, written.Text)
		}
	}
}

func TestALogInNamesTheSecretWithThePassword(t *testing.T) {
	written := fill(t, "login", form.Values{"tags": {"team"}, "user": {`Eva "E"`}, "secret": {"gui password"}}).Write()
	value := evaluated(t, written.Text, template.Facts{})
	want := stconfig.Obj(stconfig.Member{Name: "user", Value: stconfig.Text(`Eva "E"`)},
		stconfig.Member{Name: "password", Value: stconfig.SecretHandle("secret:gui password")})
	if written.Key != "gui" || !value.Equal(want) {
		t.Errorf("got %s %s", written.Key, value.JSON())
	}
}

func TestDevicesScanAtDifferentTimesAndAlwaysAtTheSame(t *testing.T) {
	written := fill(t, "rescan", form.Values{"tags": {"team"}, "minutes": {"10"}}).Write()
	seen := map[string]bool{}
	for i := range byte(20) {
		facts := template.Facts{DeviceID: fleet.DeviceIDOf([32]byte{i})}
		seconds := evaluated(t, written.Text, facts).Str()
		if n, err := strconv.Atoi(seconds); err != nil || n < 600 || n >= 700 ||
			evaluated(t, written.Text, facts).Str() != seconds {
			t.Errorf("got %s seconds", seconds)
		}
		seen[seconds] = true
	}
	if len(seen) < 10 {
		t.Errorf("20 devices scan at %d different times only", len(seen))
	}
}

// The tag of the introducers is in the program, and a device with both tags does not introduce to itself.
func TestAnIntroducerIsSetOnOtherDevicesOnly(t *testing.T) {
	hub, other := template.Facts{DeviceID: fleet.DeviceIDOf([32]byte{1}), Tags: []fleet.Tag{"hub", "second"}},
		template.Facts{DeviceID: fleet.DeviceIDOf([32]byte{2}), Tags: []fleet.Tag{"team"}}
	text := fill(t, "introducer", form.Values{"tags": {"team"}, "hubs": {"hub", "second"}}).Write().Text
	program, err := template.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		device template.Facts
		want   []any
	}{{hub, []any{}}, {other, []any{map[string]any{"deviceID": string(hub.DeviceID), "introducer": true}}}} {
		result, err := program.Evaluate(template.Input{Device: c.device,
			Fleet: template.NewFleet([]template.Facts{hub, other}), Config: stconfig.Sample()}, template.Limits{})
		if err != nil || !result.Value.Equal(valueOf(c.want)) {
			t.Errorf("got %s, %v, want %v", result.Value.JSON(), err, c.want)
		}
	}
}

func TestWhatWasFilledInWrongIsSaidAtItsField(t *testing.T) {
	for _, c := range []struct {
		kind, field, says string
		values            form.Values
	}{
		{"limits", "tags", "fill it in", form.Values{"send": {"2 MB/s"}}},
		{"limits", "send", "what is limited?", form.Values{"tags": {"a"}}},
		{"limits", "send", "write a number and its unit", form.Values{"tags": {"a"}, "send": {"2"}}},
		{"limits", "send", "Mbit/s for bits", form.Values{"tags": {"a"}, "send": {"2 Mb/s"}}},
		{"limits", "receive", "write a dot", form.Values{"tags": {"a"}, "receive": {"2,5 MB/s"}}},
		{"limits", "send", "less than 1 KiB/s", form.Values{"tags": {"a"}, "send": {"100 B/s"}}},
		{"limits", "send", "more than daemons can count", form.Values{"tags": {"a"}, "send": {"999999999 GB/s"}}},
		{"limits", "send", "takes one value", form.Values{"tags": {"a"}, "send": {"1 MB/s", "2 MB/s"}}},
		{"limits", "lan", "is one of off, on", form.Values{"tags": {"a"}, "send": {"1 MB/s"}, "lan": {"maybe"}}},
		{"versioning", "keep", "is for type simple only",
			form.Values{"tags": {"a"}, "type": {"trashcan"}, "keep": {"3"}}},
		{"versioning", "keep", "between 1 and 1000", form.Values{"tags": {"a"}, "type": {"simple"}, "keep": {"0"}}},
		{"versioning", "days", "whole number", form.Values{"tags": {"a"}, "days": {"a week"}}},
		{"versioning", "command", "for example", form.Values{"tags": {"a"}, "type": {"external"}}},
		{"ignores", "patterns", "fill it in", form.Values{"tags": {"a"}, "folder": {"photos"}, "patterns": {" ", ""}}},
		{"ignores", "patterns", "write the template as text",
			form.Values{"tags": {"a"}, "folder": {"photos"}, "patterns": {"{{ name }}"}}},
		{"ignores", "folder", "control characters",
			form.Values{"tags": {"a"}, "folder": {"pho\ntos"}, "patterns": {"x"}}},
		{"network", "global", "Choose on or off", form.Values{"tags": {"a"}}},
		{"login", "user", "means something else",
			form.Values{"tags": {"a"}, "user": {"${secret:x}"}, "secret": {"x"}}},
		{"login", "secret", "no braces", form.Values{"tags": {"a"}, "user": {"eva"}, "secret": {"x}"}}},
		{"setting", "key", "did you mean options.natEnabled",
			form.Values{"tags": {"a"}, "key": {"options.natEnable"}, "value": {"true"}}},
		{"setting", "key", "is a secret", form.Values{"tags": {"a"}, "key": {"gui.password"}, "value": {"x"}}},
		{"setting", "value", "true or false",
			form.Values{"tags": {"a"}, "key": {"options.natEnabled"}, "value": {"1"}}},
		{"setting", "value", "takes one value",
			form.Values{"tags": {"a"}, "key": {"options.natEnabled"}, "value": {"true", "false"}}},
		{"names", "tags", "fill it in", form.Values{}},
	} {
		filled, err := form.Fill(c.kind, c.values)
		if err == nil {
			err = filled.Validate()
		}
		problem, ok := err.(*fleet.Error) //nolint:errorlint // Forms return the error itself.
		if !ok || !strings.Contains(problem.Message, c.says) || len(problem.Details) != 1 ||
			problem.Details[0].Field != c.field {
			t.Errorf("%s, %v: got %v, want %q at %s", c.kind, c.values, err, c.says, c.field)
		}
	}
}

func TestAFormThatThereIsNotNamesThoseThatThereAre(t *testing.T) {
	_, err := form.Fill("limit", form.Values{})
	if err == nil || !strings.Contains(err.Error(), "limits, versioning") {
		t.Errorf("got %v", err)
	}
	_, err = form.Fill("limits", form.Values{"speed": {"1"}})
	if err == nil || !strings.Contains(err.Error(), "tags, send, receive, lan") {
		t.Errorf("got %v", err)
	}
}

// The description is complete: a page that shows nothing else is understood.
func TestEachFormIsDescribed(t *testing.T) {
	for _, kind := range form.Kinds() {
		if kind.Title == "" || kind.Help == "" || kind.Fields[0].Name != "tags" {
			t.Errorf("%s: title, help or tags are missing", kind.Name)
		}
		for i, field := range kind.Fields {
			named := field.Label != "" && field.Type != ""
			chosen := field.Type != form.ChoiceField || len(field.Choices) > 1
			above := field.OnlyIf == nil || slices.ContainsFunc(kind.Fields[:i], func(f form.Field) bool {
				return f.Name == field.OnlyIf.Field
			})
			if !named || !chosen || !above {
				t.Errorf("%s.%s: label, type, choices or condition are not right", kind.Name, field.Name)
			}
		}
	}
}
