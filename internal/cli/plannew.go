package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"muster/api"
	"muster/internal/stconfig"
)

// added writes what comes new. Of a folder or device, what is as daemons have it by default is only counted.
func (p *painter) added(key string, c api.PlannedChange) {
	to, left := c.To, 0
	if !p.all {
		to, left = withoutDefaults(c.Key, c.To)
	}
	p.value(green, "  + "+key, to)
	if left > 0 {
		p.line(faint, fmt.Sprintf("      and %s of the daemon (-v shows all)", counted(left, "default")))
	}
}

// withoutDefaults is a new folder or device without the fields that daemons have by default, and how many these are.
func withoutDefaults(at string, value json.RawMessage) (shown json.RawMessage, left int) {
	key, err := stconfig.ParseKey(at)
	if err != nil || key.Len() != 2 {
		return value, 0
	}
	defaults := stconfig.Sample().Get("defaults").Get(strings.TrimSuffix(key.At(0).Name, "s"))
	member, err := stconfig.Parse(value)
	if err != nil || !defaults.Exists() {
		return value, 0
	}
	for name, byDefault := range defaults.Members() {
		if has := member.Get(name); has.Exists() && has.Equal(byDefault) {
			member, left = member.Without(name), left+1
		}
	}
	return member.JSON(), left
}
