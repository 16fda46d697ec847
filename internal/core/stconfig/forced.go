package stconfig

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A daemon does not store every value that it accepts. It replaces a value that is out of range, or that another field
// rules out, and still answers 200. This file is the table of such replacements. Package desired applies the table
// before a plan is made, the simulator does the same, and test/contract compares the table with a real daemon. Source:
// the prepare functions of Syncthing's lib/config, and experiments on 1.19.2.

// Forced is one value that the daemon replaces.
type Forced struct {
	Key  Key
	Keep Value // the value that the daemon shows afterwards
	// the field that causes the replacement; Key itself when the daemon replaces this value in every document
	By  Key
	Why string
}

// Holder is a kind of object that the table has rules for.
type Holder string

const (
	InFolder  Holder = "folder"  // members of `folders`, and `defaults.folder`
	InDevice  Holder = "device"  // members of `devices`, and `defaults.device`
	InOptions Holder = "options" // `options`
	InGUI     Holder = "gui"     // `gui`
)

const (
	secondsPerYear = 365 * 24 * 60 * 60

	versionUntrusted = 37 // the configuration version from which on daemons act on `untrusted`
	newestVersion    = 52 // the newest configuration version that the table covers
	// the configuration version from which on maxConcurrentWrites has its later default and limit
	versionWrites = 51
)

// asked is an object as Muster sends it to the daemon.
type asked struct {
	Value
	version int64 // version of the daemon's configuration
	hasUser bool  // the GUI has a user and a password
}

// force is one rule of the table. It applies to every object of its kind that has the field.
type force struct {
	in    Holder
	field string // a field, or a field one level below: "versioning.cleanupIntervalS"
	by    string // the other field of the object that decides; "": the value alone decides
	keep  func(asked, Value) Value
	why   string
}

var forces = []force{
	{InFolder, "rescanIntervalS", "", between(0, secondsPerYear), "it is between 0 and a year"},
	{InFolder, "versioning.cleanupIntervalS", "", between(0, secondsPerYear), "it is between 0 and a year"},
	{InFolder, "fsWatcherEnabled", "fsWatcherDelayS", whereFalse(hasNoDelay), "a delay of 0 switches the watcher off"},
	{InFolder, "fsWatcherDelayS", "", watcherDelay, "the delay is at least 0.01 s, and 10 s in place of none"},
	{InFolder, "weakHashThresholdPct", "", inPlaceOfZero("25"), "0 stands for the default of 25"},
	{InFolder, "markerName", "", inPlaceOfBlank(".stfolder"), "a folder has a marker: .stfolder where none is named"},
	{InFolder, "maxConcurrentWrites", "", concurrentWrites,
		"it is at least 1, has a limit, and 0 stands for the default"},
	{InFolder, "ignorePerms", "type", whereTrue(isEncrypted), "a receiveencrypted folder ignores permissions"},
	{InFolder, "disableTempIndexes", "type", whereTrue(isEncrypted),
		"a receiveencrypted folder has no temporary indexes"},
	{InFolder, "filesystemType", "", oneOf("basic", "fake"),
		"a daemon knows basic and fake, and takes any other for basic"},
	{InFolder, "versioning.fsType", "", oneOf("basic", "fake"),
		"a daemon knows basic and fake, and takes any other for basic"},
	{InDevice, "addresses", "", deviceAddresses, "a device without address is dynamic, and kcp is no more"},
	{InDevice, "introducer", "untrusted", whereFalse(isUntrusted), "an untrusted device introduces no other"},
	{InDevice, "autoAcceptFolders", "untrusted", whereFalse(isUntrusted),
		"folders of an untrusted device are not accepted unasked"},
	{InOptions, "listenAddresses", "", listenAddresses, "addresses are trimmed and stand once, and kcp is no more"},
	{InOptions, "globalAnnounceServers", "", uniqueTrimmed, "servers are trimmed and stand once"},
	{InOptions, "databaseTuning", "", oneOf("auto", "small", "large"),
		"a daemon knows auto, small and large, and takes any other for auto"},
	{InOptions, "reconnectionIntervalS", "", atLeast(5), "it is at least 5 s"},
	{InOptions, "unackedNotificationIDs", "", unacked, "the notice about a missing password goes once there is one"},
	{InOptions, "connectionLimitEnough", "", atLeast(0), "0 is no limit, and a negative one means nothing"},
	{InOptions, "connectionLimitMax", "", atLeast(0), "0 is no limit, and a negative one means nothing"},
	{InOptions, "connectionPriorityQuicWan", "connectionPriorityQuicLan", above("connectionPriorityQuicLan"),
		"a connection over the internet comes after one in the local network"},
	{InOptions, "connectionPriorityTcpWan", "connectionPriorityTcpLan", above("connectionPriorityTcpLan"),
		"a connection over the internet comes after one in the local network"},
	{InGUI, "authMode", "", oneOf("static", "ldap"), "a daemon knows static and ldap, and takes any other for static"},
}

// Forces returns every value that the daemon would replace in this document, by the document's own version. It does
// not cover what a daemon does to shares and devices: it removes an unencrypted share with an untrusted device, and
// the entry of an ignored device that is also known.
func Forces(doc Value) []Forced {
	version, hasUser := versionOf(doc), hasPassword(doc.Get("gui"))
	var all []Forced
	eachObject(doc, func(of Holder, key Key, object Value) {
		all = append(all, forcesIn(of, key, asked{object, version, hasUser})...)
	})
	return all
}

// ForcesIn is Forces for one folder or device of the document, without looking at the others.
func ForcesIn(doc Value, member Key) []Forced {
	of := InFolder
	if member.At(0).Name == "devices" {
		of = InDevice
	}
	return forcesIn(of, member, asked{Lookup(doc, member), versionOf(doc), hasPassword(doc.Get("gui"))})
}

func forcesIn(of Holder, key Key, object asked) []Forced {
	var found []Forced
	for _, rule := range forces {
		if rule.in != of {
			continue
		}
		value := object.at(rule.field)
		if !value.Exists() {
			continue
		}
		if keep := rule.keep(object, value); keep.kind == value.kind && !keep.Equal(value) {
			by := key.below(cmp.Or(rule.by, rule.field))
			found = append(found, Forced{Key: key.below(rule.field), Keep: keep, By: by, Why: rule.why})
		}
	}
	return found
}

// eachObject visits every object that the table has rules for.
func eachObject(doc Value, visit func(of Holder, key Key, object Value)) {
	root, defaults := Key{}, doc.Get("defaults")
	for member := range doc.Get("folders").Values() {
		visit(InFolder, root.Child("folders").Child(member.Get("id").Str()), member)
	}
	for member := range doc.Get("devices").Values() {
		visit(InDevice, root.Child("devices").Child(member.Get("deviceID").Str()), member)
	}
	visit(InOptions, root.Child("options"), doc.Get("options"))
	visit(InGUI, root.Child("gui"), doc.Get("gui"))
	visit(InFolder, root.Child("defaults").Child("folder"), defaults.Get("folder"))
	visit(InDevice, root.Child("defaults").Child("device"), defaults.Get("device"))
}

// WithForced returns a document as the daemon would store it, as far as the table knows.
func WithForced(doc Value) Value {
	for _, f := range Forces(doc) {
		doc = Replace(doc, f.Key, f.Keep)
	}
	return doc
}

// WithForcedIn is WithForced for one object of a document. version and gui are those of the document.
func WithForcedIn(of Holder, object Value, version int64, gui Value) Value {
	for _, f := range forcesIn(of, Key{}, asked{object, version, hasPassword(gui)}) {
		object = object.withBelow(f.Key, f.Keep)
	}
	return object
}

// Consequences returns what the daemon changes by itself when these changes are written: other fields, and unencrypted
// shares with devices that become untrusted. Their values before the changes become their base. The daemon's notices
// are not among them: they stay the daemon's.
func Consequences(before Value, changes []Change) []Change {
	after, left := Patch(before, changes), unshared(WithForced(before))
	var beside []Change
	for _, c := range Diff(after, unshared(WithForced(after))) {
		written := slices.ContainsFunc(changes, func(w Change) bool {
			return c.Key.HasPrefix(w.Key) || w.Key.HasPrefix(c.Key)
		})
		was := Lookup(before, c.Key)
		if IsNotices(c.Key) {
			continue
		}
		if !written && !was.Equal(c.To) && !Lookup(left, c.Key).Equal(c.To) {
			beside = append(beside, Change{Key: c.Key, From: was, To: c.To})
		}
	}
	return beside
}

// unshared returns a document without the shares that a daemon of its version removes.
func unshared(doc Value) Value {
	if UnsharesUntrusted(doc) {
		return unsharedUntrusted(doc)
	}
	return doc
}

// UnsharesUntrusted reports whether the daemon that wrote a document removes unencrypted shares with a device that is
// marked untrusted. 2.1.3 does; 1.19.2, whose configuration has version 36, does not.
func UnsharesUntrusted(doc Value) bool { return versionOf(doc) >= versionUntrusted }

func versionOf(doc Value) int64 {
	version, err := strconv.ParseInt(doc.Get("version").Str(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

func hasPassword(gui Value) bool {
	return gui.Get("user").Str() != "" && gui.Get("password").Str() != ""
}

func (v Value) at(field string) Value {
	for name := range strings.SplitSeq(field, ".") {
		v = v.Get(name)
	}
	return v
}

func (k Key) below(field string) Key {
	for name := range strings.SplitSeq(field, ".") {
		k = k.Child(name)
	}
	return k
}

// withBelow returns the object with another value at a key below it.
func (v Value) withBelow(key Key, to Value) Value {
	name := key.At(0).Name
	if key.Len() > 1 {
		to = v.Get(name).withBelow(Key{key.parts[1:]}, to)
	}
	return v.With(name, to)
}

func isEncrypted(folder asked) bool { return folder.Get("type").Str() == "receiveencrypted" }

func isUntrusted(device asked) bool {
	return device.version >= versionUntrusted && device.Get("untrusted").IsTrue()
}

func hasNoDelay(folder asked) bool {
	delay := folder.Get("fsWatcherDelayS")
	return delay.Exists() && numberOf(delay) <= 0
}

func whereTrue(holds func(asked) bool) func(asked, Value) Value { return where(holds, true) }

func whereFalse(holds func(asked) bool) func(asked, Value) Value { return where(holds, false) }

func where(holds func(asked) bool, keep bool) func(asked, Value) Value {
	return func(object asked, v Value) Value {
		if holds(object) {
			return Boolean(keep)
		}
		return v
	}
}

func between(low, high float64) func(asked, Value) Value {
	return func(_ asked, v Value) Value { return clamped(v, low, high) }
}

func atLeast(low float64) func(asked, Value) Value {
	return func(_ asked, v Value) Value { return clamped(v, low, numberOf(v)) }
}

func clamped(v Value, low, high float64) Value {
	switch n := numberOf(v); {
	case n < low:
		return whole64(low)
	case n > high:
		return whole64(high)
	}
	return v
}

func inPlaceOfZero(otherwise string) func(asked, Value) Value {
	return func(_ asked, v Value) Value {
		if numberOf(v) == 0 {
			return Literal(otherwise)
		}
		return v
	}
}

func inPlaceOfBlank(otherwise string) func(asked, Value) Value {
	return func(_ asked, v Value) Value {
		if v.kind == String && v.text == "" {
			return Text(otherwise)
		}
		return v
	}
}

func watcherDelay(_ asked, v Value) Value {
	switch n := numberOf(v); {
	case n <= 0:
		return Literal("10")
	case n < 0.01:
		return Literal("0.01")
	}
	return v
}

func concurrentWrites(folder asked, v Value) Value {
	otherwise, most := 2.0, 64.0
	if folder.version >= versionWrites {
		otherwise, most = 16, 256
	}
	if numberOf(v) <= 0 {
		return whole64(otherwise)
	}
	return clamped(v, 1, most)
}

func above(lower string) func(asked, Value) Value {
	return func(options asked, v Value) Value {
		lan := options.Get(lower)
		if lan.Exists() && numberOf(v) <= numberOf(lan) {
			return whole64(numberOf(lan) + 1)
		}
		return v
	}
}

// oneOf replaces a word that the daemon does not know by the first of words. A daemon newer than the table may know
// more words.
func oneOf(words ...string) func(asked, Value) Value {
	return func(object asked, v Value) Value {
		if v.kind != String || slices.Contains(words, v.text) || object.version > newestVersion {
			return v
		}
		return Text(words[0])
	}
}

func deviceAddresses(device asked, v Value) Value {
	switch {
	case v.kind == Array && (v.Len() == 0 || v.Len() == 1 && v.At(0) == Text("")):
		return List(Text("dynamic"))
	case device.Get("deviceID").Str() == "": // the default device keeps its addresses
		return v
	}
	return withoutKCP(v)
}

func listenAddresses(options asked, v Value) Value { return withoutKCP(uniqueTrimmed(options, v)) }

// withoutKCP removes addresses of the kcp transport, which current daemons do not have.
func withoutKCP(list Value) Value {
	return filtered(list, func(v Value) bool {
		u, err := url.Parse(v.text)
		return err != nil || !strings.HasPrefix(u.Scheme, "kcp")
	})
}

func uniqueTrimmed(_ asked, list Value) Value {
	if list.kind != Array {
		return list
	}
	var unique []Value
	for v := range list.Values() {
		if v.kind == String {
			v = Text(strings.Trim(v.text, " "))
		}
		if !slices.Contains(unique, v) {
			unique = append(unique, v)
		}
	}
	return List(unique...)
}

func unacked(options asked, list Value) Value {
	if !options.hasUser {
		return list
	}
	return filtered(list, func(v Value) bool { return v != Text(passwordNotice) })
}

const passwordNotice = "authenticationUserAndPassword"

// IsNotices reports whether a key is that of the notices which the daemon shows its user. It adds and drops the one
// about a missing password by itself when the user or the password changes.
func IsNotices(key Key) bool {
	return key.Equal(Key{}.Child("options").Child("unackedNotificationIDs"))
}

func filtered(list Value, keep func(Value) bool) Value {
	if list.kind != Array {
		return list
	}
	kept := slices.DeleteFunc(slices.Clone(list.kids.values), func(v Value) bool { return !keep(v) })
	if len(kept) == list.Len() {
		return list
	}
	return List(kept...)
}

func numberOf(v Value) float64 {
	n, err := strconv.ParseFloat(v.text, 64)
	if err != nil {
		return 0
	}
	return n
}

func whole64(n float64) Value { return Literal(strconv.FormatInt(int64(n), 10)) }
