package fleet

import (
	"strings"
	"testing"
	"time"
)

func TestStaleRulesAreReadAndWritten(t *testing.T) {
	setting := settingNamed(SettingStaleAfter)
	for text, want := range map[string]string{
		"":                               "",
		"laptop=90d":                     "laptop=90d",
		" tag:laptop = 90d ; *=8760h ; ": "laptop=90d; *=365d",
		"site:oslo=36h":                  "site:oslo=36h",
	} {
		if got, err := setting.Parse(text); err != nil || got != want {
			t.Errorf("%q is read as %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"laptop":            "has no time",
		"laptop=":           "no time for stale devices",
		"laptop=1h":         "give 1d to 3650d",
		"*=4000d":           "give 1d to 3650d",
		"=90d":              "tag",
		"a=90d; tag:a=100d": "two times",
	} {
		if got, err := setting.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %q, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestTheLongestTimeOfItsTagsIsTheOneOfADevice(t *testing.T) {
	const day = 24 * time.Hour
	rules, err := ParseStaleRules("*=10d; laptop=90d; attic=200d")
	if err != nil {
		t.Fatal(err)
	}
	for want, tags := range map[time.Duration][]Tag{
		10 * day: {"server"}, 90 * day: {"laptop", "server"}, 200 * day: {"attic", "laptop"},
	} {
		if got := StaleAfter(rules, tags); got != want {
			t.Errorf("devices with %v are stale after %v; want %v", tags, got, want)
		}
	}
	if got := StaleAfter(rules[1:], []Tag{"server"}); got != 0 {
		t.Errorf("a device that no rule is for is stale after %v", got)
	}
}
