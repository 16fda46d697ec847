package fleet

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// StaleRule says after how long without being seen a device counts as stale.
type StaleRule struct {
	Tag   Tag // "" means the devices with a tag of no other rule.
	After time.Duration
}

const (
	anyDevice = "*"

	minStale, maxStale = 24 * time.Hour, 3650 * 24 * time.Hour
	maxStaleRules      = 100
)

// ParseStaleRules reads rules with semicolons between them: "laptop=90d; *=365d".
func ParseStaleRules(text string) (rules []StaleRule, err error) {
	for one := range strings.SplitSeq(text, ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		rule, err := parseStaleRule(one)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(rules, func(r StaleRule) bool { return r.Tag == rule.Tag }) {
			return nil, wrongValue("%q has two times: give one", rule.target())
		}
		rules = append(rules, rule)
	}
	if len(rules) > maxStaleRules {
		return nil, wrongValue("%d times are too many: give at most %d", len(rules), maxStaleRules)
	}
	return rules, nil
}

func parseStaleRule(text string) (r StaleRule, err error) {
	target, after, found := cutLast(text, "=")
	target, after = strings.TrimSpace(target), strings.TrimSpace(after)
	if !found {
		return r, wrongValue("%q has no time: write TAG=90d, or *=90d for the devices with none of the tags", text)
	}
	if target != anyDevice {
		if r.Tag, err = ParseTag(strings.TrimPrefix(target, tagTarget)); err != nil {
			return r, err
		}
	}
	if r.After, err = ParseDays(after); err != nil || r.After < minStale || r.After > maxStale {
		return r, wrongValue("%q is no time for stale devices: give %s to %s", after, daysText(minStale),
			daysText(maxStale))
	}
	return r, nil
}

func (r StaleRule) target() string {
	if r.Tag == "" {
		return anyDevice
	}
	return string(r.Tag)
}

// String returns the rule as it is written.
func (r StaleRule) String() string { return r.target() + "=" + daysText(r.After) }

// daysText writes a time in days where it has whole ones.
func daysText(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return DurationText(d)
}

func parseStale(text string) (string, error) {
	rules, err := ParseStaleRules(text)
	if err != nil {
		return "", err
	}
	texts := make([]string, len(rules))
	for i, rule := range rules {
		texts[i] = rule.String()
	}
	return parseLine(strings.Join(texts, "; "))
}

// StaleRules returns the value of a setting that is a list of such rules.
func (s SettingState) StaleRules() []StaleRule {
	rules, _ := ParseStaleRules(s.Value)
	return rules
}

// StaleAfter returns after how long a device with these tags counts as stale: the longest time of its tags, else that
// of all other devices. 0 means never.
func StaleAfter(rules []StaleRule, tags []Tag) (longest time.Duration) {
	var others time.Duration
	for _, rule := range rules {
		switch {
		case rule.Tag == "":
			others = rule.After
		case slices.Contains(tags, rule.Tag):
			longest = max(longest, rule.After)
		}
	}
	if longest == 0 {
		return others
	}
	return longest
}
