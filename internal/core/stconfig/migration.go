package stconfig

import "slices"

// An upgraded daemon migrates its configuration: fields come and go, and some values change. Such differences are not
// edits. This file is the table of migrations, from configuration version 28 (Syncthing 0.14.43) on.
// Source: lib/config/migrations.go of Syncthing (github.com/syncthing/syncthing), read in August 2026 for the rows up
// to 51. For 52: migrations_test.go beside it (TestMigrateReconnectInterval), which came with pull request 10573.

// Migration describes how a daemon's upgrade changed its configuration document.
type Migration struct {
	from, to int64
	expected Value // the earlier document after the migrations of the table
}

// MigrationOf returns the migration between two documents of one daemon. migrated is false when both have the same
// version; then every difference counts as an edit.
func MigrationOf(before, after Value) (m Migration, migrated bool) {
	m = Migration{from: versionOf(before), to: versionOf(after)}
	if m.from == m.to {
		return Migration{}, false
	}
	m.expected = Migrate(before, m.to)
	return m, true
}

// Explains reports whether the migration rather than a person made a difference between the two documents. It does so
// when a field of a fixed object appeared or disappeared, and never when a member did (a folder, a device, a share, an
// entry of versioning.params). It explains a changed value only when the table contains the change.
func (m Migration) Explains(c Change) bool {
	switch {
	case c.Key.Equal(Key{}.Child("version")):
		return true
	case c.From.Exists() != c.To.Exists() && isField(c.Key):
		return true
	}
	return sameOrAbsent(Lookup(m.expected, c.Key), c.To)
}

// Carry returns the later form of a value that was recorded for a key in the earlier version, such as a base. The
// caller checks with Lookup that the later document still has the field.
func (m Migration) Carry(key Key, recorded, before Value) Value {
	return Lookup(Migrate(Replace(before, key, recorded), m.to), key)
}

// isField distinguishes a field of a fixed object from a member of a list and from an entry of a free map.
func isField(key Key) bool {
	if key.IsRoot() || key.HasEvery() {
		return false
	}
	if key.Len() == 1 { // These sections hold what people made, so their removal is never the daemon's.
		name := fold(key.At(0).Name)
		return name != "folders" && name != "devices" && name != "gui" && name != "options" && name != "ignores"
	}
	parent := shapeAt(key.Parent())
	return parent == nil || parent.kind == Object && !parent.free
}

func sameOrAbsent(a, b Value) bool {
	return a.Exists() == b.Exists() && (!a.Exists() || a.Equal(b))
}

// Migrate returns a document as the daemon would migrate it to a later version: with changed values, and with what the
// later version forces. It adds and removes no fields. A document of the same or a later version stays as it is.
func Migrate(doc Value, to int64) Value {
	from := versionOf(doc)
	if from >= to {
		return doc
	}
	for _, m := range migrations {
		if from < m.version && m.version <= to {
			doc = m.change(doc)
		}
	}
	return WithForced(doc.With("version", whole64(float64(to))))
}

type migration struct {
	version int64
	change  func(Value) Value
}

// migrations are in the order of their versions. Steps that only add or remove fields are not in the table.
var migrations = []migration{
	{28, notices("fsWatcherNotification")},
	{29, crashReportingNotice},
	{31, notices(passwordNotice)},
	{35, eachVersioning(versionsMoved)},
	{36, eachVersioning(func(v Value) Value { return v.With("params", v.Get("params").Without("cleanInterval")) })},
	{versionUntrusted, unsharedUntrusted},
	{versionWrites, eachFolder(moreConcurrentWrites)},
	{52, quickerReconnects},
}

func notices(id string) func(Value) Value {
	return func(doc Value) Value {
		list := doc.Get("options").Get("unackedNotificationIDs")
		if list.kind != Array {
			return doc
		}
		longer := List(append(slices.Clone(list.kids.values), Text(id))...)
		return doc.With("options", doc.Get("options").With("unackedNotificationIDs", longer))
	}
}

func crashReportingNotice(doc Value) Value {
	options := doc.Get("options")
	if options.Get("globalAnnounceEnabled").IsTrue() || numberOf(options.Get("urAccepted")) > 0 {
		return notices("crAutoEnabled")(doc)
	}
	return notices("crAutoDisabled")(doc)
}

// eachFolder applies a change to all folders and to the default folder.
func eachFolder(change func(Value) Value) func(Value) Value {
	return func(doc Value) Value {
		if list := doc.Get("folders"); list.kind == Array {
			changed := slices.Clone(list.kids.values)
			for i, folder := range changed {
				changed[i] = change(folder)
			}
			doc = doc.With("folders", list.withValues(changed))
		}
		if folder := doc.Get("defaults").Get("folder"); folder.kind == Object {
			doc = doc.With("defaults", doc.Get("defaults").With("folder", change(folder)))
		}
		return doc
	}
}

// eachVersioning applies a change to the versioning of all folders, but not of the default folder, which those
// migrations did not change.
func eachVersioning(change func(Value) Value) func(Value) Value {
	return func(doc Value) Value {
		defaults := doc.Get("defaults")
		doc = eachFolder(func(folder Value) Value {
			if v := folder.Get("versioning"); v.Get("params").kind == Object {
				return folder.With("versioning", change(v))
			}
			return folder
		})(doc)
		if defaults.Exists() {
			doc = doc.With("defaults", defaults)
		}
		return doc
	}
}

// versionsMoved moves the path of old versions out of versioning.params.
func versionsMoved(v Value) Value {
	params := v.Get("params")
	if kind := params.Get("fsType").Str(); kind != "" {
		if kind != "fake" {
			kind = "basic"
		}
		v = v.With("fsType", Text(kind))
	}
	path := params.Get("fsPath")
	if path.Str() == "" {
		path = params.Get("versionsPath")
	}
	v = v.With("fsPath", Text(path.Str()))
	return v.With("params", params.Without("fsType").Without("fsPath").Without("versionsPath"))
}

// unsharedUntrusted removes unencrypted shares with untrusted devices, as daemons do from configuration version 37 on.
func unsharedUntrusted(doc Value) Value {
	marked := map[string]bool{}
	for device := range doc.Get("devices").Values() {
		marked[device.Get("deviceID").Str()] = device.Get("untrusted").IsTrue()
	}
	return eachFolder(func(folder Value) Value {
		if folder.Get("type").Str() == "receiveencrypted" {
			return folder
		}
		return folder.With("devices", filtered(folder.Get("devices"), func(share Value) bool {
			return share.Get("encryptionPassword") != Text("") || !marked[share.Get("deviceID").Str()]
		}))
	})(doc)
}

// moreConcurrentWrites replaces the old default by the new one.
func moreConcurrentWrites(folder Value) Value {
	if writes := folder.Get("maxConcurrentWrites"); writes.Exists() && numberOf(writes) == 2 {
		return folder.With("maxConcurrentWrites", Literal("16"))
	}
	return folder
}

// quickerReconnects sets the interval to a third of its value, but at least 10 s. QUIC connections used that third
// before.
func quickerReconnects(doc Value) Value {
	options := doc.Get("options")
	interval := options.Get("reconnectionIntervalS")
	if interval.kind != Number {
		return doc
	}
	n := numberOf(interval)
	shorter := min(n, max(float64(int64(n)/3), 10))
	return doc.With("options", options.With("reconnectionIntervalS", whole64(shorter)))
}

// Refit gives a document the same fields that another document (now) of the same daemon has: missing fields are taken
// from now, and fields that now does not have are removed. It is for stored documents (a base, a revision), which
// are of the version that the daemon had then. Members of lists and entries of free maps stay. A member that now
// does not have gets the fields of `defaults`.
func Refit(doc, now Value) Value { return refit(doc, now, configuration, now.Get("defaults")) }

// Restorable returns an earlier document as the daemon would write it now: migrated to the current version, with the
// fields of that version and with the values that the daemon forces.
func Restorable(earlier, now Value) Value {
	return WithForced(Refit(Migrate(earlier, versionOf(now)), now))
}

func refit(v, like Value, s *shape, defaults Value) Value {
	s = fit(s, like)
	switch {
	case s == nil || s.isFree() || v == like || v.kind != like.kind:
		return v
	case v.kind == Object:
		return refitObject(v, like, s, defaults)
	case v.kind == Array && s.identified():
		return refitMembers(v, like, s, defaults)
	}
	return v
}

func refitObject(v, like Value, s *shape, defaults Value) Value {
	for i := v.Len() - 1; i >= 0; i-- {
		name := v.kids.names[i]
		if now := like.Get(name); now.Exists() {
			v = v.withAt(i, refit(v.At(i), now, s.below(name), defaults))
		} else if fold(name) != "ignores" { // The section is Muster's own.
			v = v.withoutAt(i)
		}
	}
	for name, now := range like.Members() {
		if !v.Get(name).Exists() {
			v = v.With(name, now)
		}
	}
	return v
}

func refitMembers(list, like Value, s *shape, defaults Value) Value {
	now := make(map[string]Value, like.Len())
	for member := range like.Values() {
		now[s.identityOf(member)] = member
	}
	values := replacing{of: list.kids.values}
	for i, member := range list.kids.values {
		model, there := now[s.identityOf(member)]
		if !there {
			model = defaults.Get(s.defaults)
		}
		if model.kind == Object {
			values.set(i, refit(member, model, s.entry, defaults))
		}
	}
	return list.withValues(values.of)
}
