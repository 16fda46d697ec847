package desired

import (
	"strconv"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// A daemon that is upgraded migrates its configuration. That is no edit: what is recorded is carried over to the
// new version, and what that version does not have is dropped.

func versionOf(doc stconfig.Value) int64 {
	version, err := strconv.ParseInt(doc.Get("version").Str(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// migrate carries a record over to the document's version; it does not stay where that has no such field.
func (s settling) migrate(r record) (_ record, stays bool) {
	now, held := stconfig.Lookup(s.Document, r.key), r.written
	if r.Kind == fleet.BaseLeaf && r.State != fleet.BaseOurs {
		held = r.base
	}
	before := stconfig.Replace(s.Document.With("version", stconfig.Literal(strconv.FormatInt(r.Version, 10))), r.key, held)
	m, migrated := stconfig.MigrationOf(before, s.Document)
	switch {
	case !migrated || r.Kind == fleet.BaseRemoved: // a removed member is made to fit when it comes back
		return r, true
	case r.Kind == fleet.BaseMade:
		for _, c := range stconfig.DiffAt(r.key, r.written, now) {
			if !c.Key.Equal(r.key) && m.Explains(c) {
				r.written = stconfig.ReplaceAt(r.key, r.written, c.Key, c.To)
			}
		}
		return r, true
	case same(held, now) || !m.Explains(stconfig.Change{Key: r.key, From: held, To: now}):
		return r, true
	case !now.Exists():
		return r, false
	case r.State == fleet.BaseOurs:
		r.base, r.written = m.Carry(r.key, r.base, before), now
		r.remember(r.key, now)
	default:
		r.base = now
	}
	return r, true
}
