package recipes

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// result is one line that says what a recipe leads to:
//
//	office: folders.team.path is "~/team"
//	office: folders.team.devices are office, laptop
//	office: folders.photos.rescanIntervalS is between 3600 and 4199
//	office: devices.<attic> is gone, after consent (why it needs one)
//
// <LABEL> stands for a device ID. A line about `windows` is about any device with that system.
type result struct {
	line        string
	device, key string
	is, value   string
	held        string // why a person has to consent; "" when nobody has to
}

var resultLine = regexp.MustCompile(
	`^(\w+): +(\S+) (is gone|is between|is|are)(?: (.+?))?(?:, after consent \((.+)\))?$`,
)

func parseResult(t *testing.T, line string) result {
	t.Helper()
	parts := resultLine.FindStringSubmatch(line)
	if parts == nil {
		t.Fatalf("this line says no result: %q", line)
	}
	return result{line, parts[1], parts[2], parts[3], parts[4], parts[5]}
}

// names translates between the page's labels and the device IDs of a fleet.
type names map[string]fleet.DeviceID

func (n names) ids(text string) string {
	for label, id := range n {
		text = strings.ReplaceAll(text, "<"+label+">", string(id))
	}
	return text
}

// reason is a text of the page as a plan has it, which names devices by label and short ID.
func (n names) reason(text string) string {
	for label, id := range n {
		text = strings.ReplaceAll(text, "<"+label+">", label+" ("+id.Short()+")")
	}
	return text
}

func (n names) keyOf(t *testing.T, r result) stconfig.Key {
	t.Helper()
	key, err := stconfig.ParseKey(n.ids(r.key))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// check compares a configuration with what the page says.
func (n names) check(t *testing.T, doc stconfig.Value, r result) {
	t.Helper()
	got := stconfig.Lookup(doc, n.keyOf(t, r))
	var fits bool
	switch r.is {
	case "is gone":
		fits = !got.Exists()
	case "are":
		fits = slices.Equal(n.labelsIn(got), slices.Sorted(slices.Values(words(r.value))))
	case "is between":
		low, high, _ := strings.Cut(r.value, " and ")
		fits = len(got.Str()) == len(low) && low <= got.Str() && got.Str() <= high
	default:
		want, err := stconfig.Parse([]byte(r.value))
		if err != nil {
			t.Fatalf("%q: %v", r.line, err)
		}
		fits = got.Equal(want)
	}
	if !fits {
		t.Errorf("the page says %q, the daemon has %s", r.line, got.JSON())
	}
}

// labelsIn are the labels of the devices in a list, sorted.
func (n names) labelsIn(list stconfig.Value) []string {
	var labels []string
	for member := range list.Values() {
		label := member.Get("deviceID").Str()
		for l, id := range n {
			if string(id) == label {
				label = l
			}
		}
		labels = append(labels, label)
	}
	slices.Sort(labels)
	return labels
}

// checkHeld compares what waits for consent in a device's plan with what the page says, both ways.
func (n names) checkHeld(t *testing.T, label string, plan api.Plan, results []result) (consent []string) {
	t.Helper()
	said := make([]bool, len(results))
	for _, change := range plan.Changes {
		if change.Class != "held" {
			t.Errorf("%s: %s is %s: %s", label, change.Key, change.Class, change.Reason)
			continue
		}
		consent = append(consent, change.Key)
		key, err := stconfig.ParseKey(change.Key)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i, r := range results {
			if r.device == label && r.held != "" && (key.HasPrefix(n.keyOf(t, r)) || n.keyOf(t, r).HasPrefix(key)) &&
				n.reason(r.held) == change.Reason {
				said[i], found = true, true
			}
		}
		if !found {
			t.Errorf("%s: %s is held (%s), and the page does not say so", label, change.Key, change.Reason)
		}
	}
	for i, r := range results {
		if r.device == label && r.held != "" && !said[i] {
			t.Errorf("the page says %q, and no such change is held: %+v", r.line, plan.Changes)
		}
	}
	return consent
}
