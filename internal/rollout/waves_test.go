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
		waves, err := ParseWaves(test.text)
		if got := splitWaves(waves, test.left, test.all); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q of %d: got %v, %v, want %v", test.text, test.left, got, err, test.want)
		}
	}
	for _, text := range []string{"1", "rest,1", "0,rest", "-1,rest", "101%,rest", "x,rest", "1.5,rest", "%,rest",
		"1,,rest"} {
		_, err := ParseWaves(text)
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%q: got %v, want invalid", text, err)
		}
	}
}

func TestThresholdsAreNumbersOrShares(t *testing.T) {
	for text, exceeded := range map[string]bool{"": false, "5": true, "6": false, "50%": true, "60%": false,
		"0.5%": true} {
		threshold, err := ParseThreshold(text)
		if err != nil || threshold.Exceeded(6, 10) != exceeded {
			t.Errorf("%q: got exceeded %v (%v), want %v", text, threshold.Exceeded(6, 10), err, exceeded)
		}
	}
	for _, text := range []string{"0", "-1", "x", "0%", "101%", "%", "NaN%", "1.5"} {
		_, err := ParseThreshold(text)
		wantCode(t, err, fleet.CodeInvalid)
	}
}

func TestWavesOfAChangeAreForeseen(t *testing.T) {
	for _, test := range []struct {
		touched, devices int
		access           bool
		want             []int
	}{
		{0, 100, true, nil},
		{1, 100, true, nil},
		{10, 100, false, nil},
		{10, 100, true, []int{1, 9}},
		{30, 100, false, []int{1, 3, 26}},
		{30, 100, true, []int{1, 3, 26}},
		{8, 10, false, []int{1, 1, 6}}, // more than the approval threshold
	} {
		r := &Runner{o: Options{Waves: DefaultWaves, ApprovalThreshold: Threshold{Percent: 60}}}
		if got := r.Waves(test.touched, test.devices, test.access); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}
