package fleet

import (
	"testing"
	"time"
)

// A silence of all severities hid everything.
func TestASilenceThatFitsEverythingIsRefused(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		match Match
		valid bool
	}{
		"nothing named":         {Match{}, false},
		"all severities":        {Match{Severities: Severities}, false},
		"all kinds":             {Match{Kinds: ToldKinds}, false},
		"some severities":       {Match{Severities: Severities[1:]}, true},
		"all severities of tag": {Match{Severities: Severities, Tags: []Tag{"site:berlin"}}, true},
		"one kind":              {Match{Kinds: ToldKinds[:1], Severities: Severities}, true},
	} {
		err := Silence{Match: c.match, Until: now.Add(time.Hour)}.Validate(now)
		if c.valid != (err == nil) || !c.valid && CodeOf(err) != CodeInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
