// A form is written and read by one goroutine, where the race detector finds nothing and takes long: the
// run that has it goes through a few cases only.
//
//muster:test -cases=20
//muster:test -race=false
//muster:soak
package form_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"muster/internal/core/form"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

var cases = flag.Uint64("cases", 1000, "of each kind of form")

func TestAShareIsReadAgainFromTheTextThatItWrites(t *testing.T) {
	for seed := range *cases {
		share := randomShare(rand.New(rand.NewPCG(seed, 25)))
		if err := share.Validate(); err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, share, err)
		}
		written := share.Write()
		again, isForm := form.ReadShare(stored(written))
		if !isForm {
			t.Fatalf("seed %d: it is no form:\n%s", seed, written.Text)
		}
		if second := again.Write(); second.Text != written.Text || second.Key != written.Key {
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, second.Text, written.Text)
		}
	}
}

// After a change of one character, the key or a tag by hand, the form does not show something else than the template.
func TestATextThatWasChangedByHandIsNoForm(t *testing.T) {
	for seed := range *cases {
		random := rand.New(rand.NewPCG(seed, 26))
		written := randomShare(random).Write()
		edited := stored(written)
		at := random.IntN(len(edited.Text))
		for edited.Text[at] >= 0x80 { // A changed byte of a longer character is no UTF-8.
			at = random.IntN(len(edited.Text))
		}
		for _, with := range []string{"", "x"} {
			edited.Text = written.Text[:at] + with + written.Text[at+1:]
			again, isForm := form.ReadShare(edited)
			if edited.Text != written.Text && isForm && again.Write().Text != edited.Text {
				t.Fatalf("seed %d: the form shows another text than\n%s", seed, edited.Text)
			}
		}
		for name, edit := range map[string]func(*fleet.TaggedTemplate){
			"op":   func(e *fleet.TaggedTemplate) { e.Op = fleet.OpSet },
			"key":  func(e *fleet.TaggedTemplate) { e.Key += "x" },
			"tags": func(e *fleet.TaggedTemplate) { e.Tags = append(e.Tags, "one more") },
			"text": func(e *fleet.TaggedTemplate) { e.Text += "\n" },
		} {
			edited := stored(written)
			edit(&edited)
			if _, isForm := form.ReadShare(edited); isForm {
				t.Fatalf("seed %d: it is a form with another %s", seed, name)
			}
		}
	}
}

// A program gives each device what the form says, judged by a second, plain reading of the form.
func TestTheProgramOfAShareGivesWhatWasFilledIn(t *testing.T) {
	for seed := range *cases / 5 {
		random := rand.New(rand.NewPCG(seed, 27))
		share := randomShare(random)
		program, err := template.Compile(share.Write().Text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, share.Write().Text)
		}
		devices := randomDevices(random)
		for _, device := range devices {
			want, why := wanted(share, device, devices)
			result, err := program.Evaluate(template.Input{Device: device, Fleet: template.NewFleet(devices),
				Config: stconfig.Sample()}, template.Limits{})
			switch {
			case why != "" && (err == nil || !strings.Contains(err.Error(), why)):
				t.Fatalf("seed %d: got %v, want an error that says %q", seed, err, why)
			case why == "" && err != nil:
				t.Fatalf("seed %d: %v\n%s", seed, err, share.Write().Text)
			case why == "" && !result.Value.Equal(want):
				t.Fatalf("seed %d: got  %s\nwant %s\n%s", seed, result.Value.JSON(), want.JSON(), share.Write().Text)
			}
		}
	}
}
