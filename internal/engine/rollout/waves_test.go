package rollout

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

func TestWavesAreNumbersSharesAndTheRest(t *testing.T) {
	for _, test := range []struct {
		text      string
		left, all int
		want      []int
	}{
		{"", 1, 1, []int{1}}, {"", 2, 2, []int{1, 1}}, {"", 3, 3, []int{1, 1, 1}}, {"", 11, 11, []int{1, 2, 8}},
		{"", 1000, 1000, []int{1, 100, 899}}, {"1, rest", 30, 30, []int{1, 29}}, {"rest", 30, 30, []int{30}},
		{"1,10%,50%,rest", 30, 30, []int{1, 3, 15, 11}}, {"50%,rest", 10, 30, []int{10}}, {"5,rest", 3, 3, []int{3}},
	} {
		waves, err := fleet.ParseWaves(test.text)
		if got := splitWaves(waves, test.left, test.all); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q of %d: got %v, %v, want %v", test.text, test.left, got, err, test.want)
		}
	}
	for _, text := range []string{"1", "rest,1", "0,rest", "-1,rest", "101%,rest", "x,rest", "1.5,rest", "%,rest",
		"1,,rest"} {
		_, err := fleet.ParseWaves(text)
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%q: got %v, want invalid", text, err)
		}
	}
}

func TestThresholdsAreNumbersOrShares(t *testing.T) {
	for text, exceeded := range map[string]bool{"": false, "5": true, "6": false, "50%": true, "60%": false,
		"0.5%": true} {
		threshold, err := fleet.ParseThreshold(text)
		if err != nil || threshold.Exceeded(6, 10) != exceeded {
			t.Errorf("%q: got exceeded %v (%v), want %v", text, threshold.Exceeded(6, 10), err, exceeded)
		}
	}
	for _, text := range []string{"0", "-1", "x", "0%", "101%", "%", "NaN%", "1.5"} {
		_, err := fleet.ParseThreshold(text)
		wantCode(t, err, fleet.CodeInvalid)
	}
}

func TestWavesOfAChangeAreForeseen(t *testing.T) {
	for _, test := range []struct {
		devices, tagged int
		key, text       string
		want            []int
	}{
		{100, 1, "gui", `{"address": "0.0.0.0:8384"}`, nil},
		{100, 10, "options", `{"natEnabled": false}`, nil},
		{100, 10, "gui", `{"address": "0.0.0.0:8384"}`, []int{1, 9}},
		{100, 10, "gui", `{"theme": "dark"}`, nil},
		{100, 30, "options", `{"natEnabled": false}`, []int{1, 3, 26}},
		{10, 8, "options", `{"natEnabled": false}`, []int{1, 1, 6}}, // more than the approval threshold
	} {
		d := newDaemons(t, test.devices, Options{Policy: Policy{Waves: fleet.DefaultWaves,
			ApprovalThreshold: fleet.Threshold{Percent: 60}}})
		now, r := d.store.current(), d.runner
		made := fleet.Template{Op: fleet.OpMerge, Key: test.key, Text: test.text}
		made.Reads.Known = true
		edit := fleet.Edit{New: []fleet.TaggedTemplate{{Tags: []fleet.Tag{"some"}, Template: made}}}
		for i := range test.tagged {
			edit.Tag = append(edit.Tag, fleet.Tagging{Tag: "some", Device: deviceN(i)})
		}
		then, _, err := now.Edited(edit)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Waves(t.Context(), now, then); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %v", test, got)
		}
		if got := r.Waves(t.Context(), then, then); got != nil {
			t.Errorf("%+v: nothing changes: got %v", test, got)
		}
	}
}
