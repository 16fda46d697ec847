package stconfig

import (
	"slices"
)

// When a daemon is upgraded it migrates its configuration: fields come and go, and some values become others. Those
// are no edits. This file is the table of migrations, from configuration version 28 (Syncthing 0.14.43) on.
// Source: lib/config/migrations.go of Syncthing (github.com/syncthing/syncthing), read in August 2026 for each row up
// to
// 51. What 52 does is in migrations_test.go beside it (TestMigrateReconnectInterval), which came with pull request
// 10573.

// Migration is what happened between two documents of one daemon whose configuration versions differ.
type Migration struct {
	from, to int64
	expected Value // the earlier document with the migrations done, as far as the table goes
}

// MigrationOf compares the versions of two documents; none when they are the same, and then no difference is exempt.
func MigrationOf(before, after Value) (m Migration, migrated bool) {
	m = Migration{from: versionOf(before), to: versionOf(after)}
	if m.from == m.to {
		return Migration{}, false
	}
	m.expected = Migrate(before, m.to)
	return m, true
}

// Explains tells whether a difference between the two documents, as Diff gives it, is the migration's and no person's.
// Fields of fixed objects that came or went are the daemon's, whatever the versions are. A member that came or went (a
// folder, a device, a share, an entry of versioning.params) is not, and a value only where the table has it.
func (m Migration) Explains(c Change) bool {
	switch {
	case c.Key.Equal(Key{}.Child("version")):
		return true
	case c.From.Exists() != c.To.Exists() && isField(c.Key):
		return true
	}
	return sameOrAbsent(Lookup(m.expected, c.Key), c.To)
}

// Carry is what a value that was kept for a key in the earlier version (a base, what Muster wrote) is in the later
// one. The field must still be there: Lookup of the later document tells.
func (m Migration) Carry(key Key, kept, before Value) Value {
	return Lookup(Migrate(Replace(before, key, kept), m.to), key)
}

// isField tells a field of an object of fixed shape from a member of a list and an entry of a free map.
func isField(key Key) bool {
	if key.IsRoot() || key.HasEvery() {
		return false
	}
	if key.Len() == 1 { // the sections that hold what people made
		name := fold(key.At(0).Name)
		return name != "folders" && name != "devices" && name != "gui" && name != "options" && name != "ignores"
	}
	parent := shapeAt(key.Parent())
	return parent == nil || parent.kind == Object && !parent.free
}

func sameOrAbsent(a, b Value) bool {
	return a.Exists() == b.Exists() && (!a.Exists() || a.Equal(b))
}

// Migrate is a document as the daemon makes it one of a later version: values that become others, and what the later
// version forces. Which fields come and go is not in it. A document of the same or a later version stays as it is.
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
	return Kept(doc.With("version", whole64(float64(to))))
}

type migration struct {
	version int64
	change  func(Value) Value
}

// migrations in their order. Steps that only bring or take fields are not in the table.
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

// eachFolder changes the folders and the default one.
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

// eachVersioning changes how folders keep versions; those steps left the default folder as it was.
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

// versionsMoved takes the place of the versions out of the parameters.
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

// unsharedUntrusted takes shares in clear from devices that are marked untrusted, as the daemon does from then on.
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

// moreConcurrentWrites gives folders that had the old default the new one.
func moreConcurrentWrites(folder Value) Value {
	if writes := folder.Get("maxConcurrentWrites"); writes.Exists() && numberOf(writes) == 2 {
		return folder.With("maxConcurrentWrites", Literal("16"))
	}
	return folder
}

// quickerReconnects makes the interval the one that QUIC connections had before: a third, at least 10 s.
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
