package desired

import (
	"fmt"

	"muster/internal/stconfig"
)

// force makes of the document what the daemon will keep of it (stconfig.Forces). So that is no difference later, and
// what a template asks for in vain is said. A value that the daemon shows now, next to what would rule it out, it does
// not force, whatever the table says.
func (f *fold) force() {
	for _, forced := range stconfig.Forces(f.doc) {
		stays := f.stands(forced.By)
		if stays && f.stands(forced.Key) {
			continue
		}
		f.sayOverridden(forced)
		f.doc = stconfig.Replace(f.doc, forced.Key, forced.Keep)
		if !stays && !forced.By.Equal(forced.Key) && stconfig.Lookup(f.Observed, forced.Key).Exists() {
			f.asked = append(f.asked, asked{key: forced.Key, templates: f.askers(forced.By), with: forced.By.String()})
		}
	}
}

// stands tells whether the daemon shows at a key what is desired there.
func (f *fold) stands(key stconfig.Key) bool {
	now := stconfig.Lookup(f.Observed, key)
	return now.Exists() && now.Equal(stconfig.Lookup(f.doc, key))
}

// sayOverridden says to the last template that names a value that the daemon does not keep it.
func (f *fold) sayOverridden(forced stconfig.Forced) {
	alone := forced.By.Equal(forced.Key)
	for i := len(f.asked) - 1; i >= 0; i-- {
		a := f.asked[i]
		if len(a.templates) == 0 || !a.key.HasPrefix(forced.Key) && !(alone && forced.Key.HasPrefix(a.key)) {
			continue
		}
		f.skipped = append(f.skipped, Skipped{Template: a.templates[len(a.templates)-1], Key: forced.Key,
			Reason: fmt.Sprintf("the daemon overrides it and keeps %s: %s", forced.Keep.JSON(), forced.Why)})
		return
	}
}
