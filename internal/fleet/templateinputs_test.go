package fleet

import "testing"

func TestInputsAreKeptAsText(t *testing.T) {
	for _, in := range []Inputs{
		{}, {Known: true}, {Known: true, Device: AllFacts, Config: true, Devices: true, Tags: true, Secrets: true,
			Sharing: true},
		{Known: true, Device: FactsNamed([]string{"label", "os"})},
	} {
		if got := ParseInputs(in.Text()); got != in {
			t.Errorf("got %+v, want %+v", got, in)
		}
	}
	if got := ParseInputs("{"); got.Known {
		t.Errorf("got %+v from what is no text of inputs", got)
	}
	facts := FactsNamed([]string{"label", "os"})
	if !facts.Has("os") || facts.Has("o") || facts.Has("version") || !AllFacts.Has("version") || DeviceFacts("").Any() {
		t.Error("facts are not told apart")
	}
}
