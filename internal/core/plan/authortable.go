package plan

import (
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// reach is one row of authorTable. In the pattern `at`, `*` stands in for any one name of a key.
type reach struct {
	at string
	// why returns why the value at a place, or the presence of a member, waits for an admin; "" if authors may set it.
	// Nil: authors may set every value.
	why    func(g guard, p place) string
	inside bool   // The row is about presence only; other rows are about the contents.
	reason string // why the row harms nobody, for readers of the table
}

// authorTable lists everything that a template may do if somebody below admin saved it. A change of a key without a
// row waits for an admin, and so does a value that the key's row does not allow. The rules of guardTable apply as
// well.
var authorTable = []reach{
	{"options.maxSendKbps", rate, false, "a slow link still syncs at 64 KiB/s"},
	{"options.maxRecvKbps", rate, false, "a slow link still syncs at 64 KiB/s"},
	{"options.limitBandwidthInLan", flag, false, "it only says where the rates hold"},
	{
		"options.reconnectionIntervalS",
		number(5, hour),
		false,
		"peers are found within an hour, and not called all the time",
	},
	{"options.progressUpdateIntervalS", orOff(1, hour), false, "it is for people who watch"},
	{"options.keepTemporariesH", number(1, 24*366), false, "unfinished files only"},
	{"options.restartOnWakeup", flag, false, "either way the daemon goes on"},
	{"options.setLowPriority", flag, false, "either way the daemon goes on"},
	{"options.startBrowser", flag, false, "a window on the machine's own screen"},
	{"options.relaysEnabled", off, false, "the daemon talks to fewer others"},
	{"options.natEnabled", off, false, "the daemon opens no ports at routers"},
	{"gui.theme", oneOf("default", "dark", "black", "light"), false, "themes that every daemon ships"},

	{"devices.*", presenceOfDevice, true, "a registered device: with it alone no data is shared"},
	{"devices.*.deviceID", sameAsName, false, "it is the name of the member"},
	{"devices.*.name", text, false, "it is for people"},
	{"devices.*.addresses", addresses, false, "the device itself proves who it is; other addresses reveal the daemon's"},
	{"devices.*.compression", oneOf("never", "metadata", "always"), false, "it costs some processor time"},
	{"devices.*.paused", flag, false, "nothing is lost by waiting"},
	{"devices.*.maxSendKbps", rate, false, "a slow link still syncs at 64 KiB/s"},
	{"devices.*.maxRecvKbps", rate, false, "a slow link still syncs at 64 KiB/s"},

	{"folders.*", presenceOfFolder, true, "its path, shares and all fields have rows of their own"},
	{"folders.*.id", sameAsName, false, "it is the name of the member"},
	{"folders.*.label", text, false, "it is for people"},
	{"folders.*.paused", flag, false, "nothing is lost by waiting"},
	{"folders.*.rescanIntervalS", number(minute, 366*24*hour), false, "not all the time"},
	{"folders.*.fsWatcherEnabled", flag, false, "changes are found by scans, too"},
	{"folders.*.fsWatcherDelayS", number(1, hour), false, "changes go out within an hour"},
	{
		"folders.*.order",
		oneOf("random", "alphabetic", "smallestFirst", "largestFirst", "oldestFirst", "newestFirst"),
		false,
		"all files come",
	},
	{"folders.*.blockPullOrder", oneOf("standard", "random", "inOrder"), false, "all blocks come"},
	{"folders.*.pullerMaxPendingKiB", orOff(1<<10, 128<<10), false, "at most 128 MiB of memory"},
	{"folders.*.pullerPauseS", number(0, hour), false, "it tries again within an hour"},
	{"folders.*.copiers", number(0, 16), false, "no more than a machine has processors"},
	{"folders.*.hashers", number(0, 16), false, "no more than a machine has processors"},
	{"folders.*.maxConcurrentWrites", number(0, 64), false, "a few files at once"},
	{"folders.*.scanProgressIntervalS", orOff(0, hour), false, "it is for people who watch"},
	{"folders.*.disableSparseFiles", flag, false, "the same files, in more or less space"},
	{"folders.*.disableTempIndexes", flag, false, "the same files, a little later"},
	{"folders.*.disableFsync", off, false, "files are safe on the disk"},
	{"folders.*.maxConflicts", number(1, 1000), false, "conflicting copies are kept"},

	// Of folders that templates of authors made.
	{"folders.*.path", authorsPath, false, "below a folder root, apart from every other folder"},
	{"folders.*.type", ofAuthors(oneOf("sendreceive", "sendonly", "receiveonly", "receiveencrypted")), false,
		"only files that came with it"},
	{"folders.*.devices", ofAuthors(nil), true, "each share is judged"},
	{"folders.*.devices.*", share, true, "among registered devices"},
	{"folders.*.devices.*.deviceID", sameAsName, false, "it is the name of the member"},
	{"folders.*.devices.*.introducedBy", blankText, false, "nobody introduced it"},
	{"folders.*.devices.*.encryptionPassword", ofNewShare, false, "the other device reads less"},
	{"folders.*.versioning", ofAuthors(nil), true, "each field is judged"},
	{"folders.*.versioning.type", ofAuthors(firstVersioning), false, "more is kept than before"},
	{"folders.*.versioning.params", ofAuthors(nil), true, "each parameter is judged"},
	{
		"folders.*.versioning.params.keep",
		ofAuthors(keepsAtLeast("5", 1, 1000, false)),
		false,
		"no fewer versions than before",
	},
	{
		"folders.*.versioning.params.cleanoutDays",
		ofAuthors(keepsAtLeast("0", 1, 36500, true)),
		false,
		"no shorter than before",
	},
	{"folders.*.versioning.params.maxAge", ofAuthors(keepsAtLeast("31536000", 24*hour, 36500*24*hour, true)), false,
		"no shorter than before"},
	{"folders.*.versioning.cleanupIntervalS", ofAuthors(number(5*minute, 366*24*hour)), false, "not all the time"},
	{"folders.*.versioning.fsPath", ofAuthors(oneOf("", defaultVersions)), false, "no path of its own"},
	{"folders.*.versioning.fsType", ofAuthors(oneOf("", "basic")), false, "the files on the disk"},
	{"ignores.*", authorsPatterns, false, "in a folder of authors nobody else's files appear"},
}

const (
	minute = 60 // seconds
	hour   = 60 * minute
)

// reachOf returns the row of a place.
func reachOf(names []string) (reach, bool) {
	for i, pattern := range reachPatterns {
		if matches(pattern, names) {
			return authorTable[i], true
		}
	}
	return reach{}, false
}

var reachPatterns = func() [][]string {
	split := make([][]string, len(authorTable))
	for i, r := range authorTable {
		split[i] = strings.Split(r.at, ".")
	}
	return split
}()

// The grammars of authorTable.

const beyond = "the value is beyond what authors may set"

func freeWhere(ok bool) string {
	if ok {
		return ""
	}
	return beyond
}

func flag(_ guard, p place) string { return freeWhere(p.to.Kind() == stconfig.Bool) }
func off(_ guard, p place) string  { return freeWhere(p.to.Kind() == stconfig.Bool && !p.to.IsTrue()) }
func text(_ guard, p place) string { return freeWhere(p.to.Kind() == stconfig.String) }

func blankText(_ guard, p place) string {
	return freeWhere(p.to.Kind() == stconfig.String && p.to.Str() == "")
}

func sameAsName(_ guard, p place) string {
	return freeWhere(p.to.Kind() == stconfig.String && p.to.Str() == p.names[len(p.names)-2])
}

func oneOf(choices ...string) func(guard, place) string {
	return func(_ guard, p place) string {
		return freeWhere(p.to.Kind() == stconfig.String && slices.Contains(choices, p.to.Str()))
	}
}

func number(least, most int64) func(guard, place) string {
	return func(_ guard, p place) string {
		n, err := strconv.ParseInt(p.to.Str(), 10, 64)
		return freeWhere(p.to.Kind() == stconfig.Number && err == nil && least <= n && n <= most)
	}
}

// orOff allows what number allows. It also allows 0 and -1, with which daemons switch a thing off or choose a value
// themselves.
func orOff(least, most int64) func(guard, place) string {
	inRange, isOff := number(least, most), number(-1, 0)
	return func(g guard, p place) string {
		if isOff(g, p) == "" {
			return ""
		}
		return inRange(g, p)
	}
}

// rate is a number of KiB/s: 0, which is no limit, or at least 64.
func rate(g guard, p place) string {
	if number(0, 0)(g, p) == "" {
		return ""
	}
	return number(64, 1<<31)(g, p)
}

// ofAuthors returns a function for reach.why: in a folder that templates of authors made, grammar judges the value,
// and if grammar is nil every value is allowed. In any other folder every value waits for an admin.
func ofAuthors(grammar func(guard, place) string) func(guard, place) string {
	return func(g guard, p place) string {
		switch {
		case !g.isAuthors(keyOf(p.names[:2])):
			return notAuthors
		case grammar == nil:
			return ""
		}
		return grammar(g, p)
	}
}

const notAuthors = "templates of authors did not make this folder"

// isAuthors reports whether a folder is the authors': no template of an admin makes it or was the first to make it,
// and the base, which has what people made, lacks it. It returns false if what admins ask for is not known.
func (g guard) isAuthors(folder stconfig.Key) bool {
	if g.made(folder) || stconfig.Lookup(g.base, folder).Exists() {
		return false
	}
	doc := g.admins()
	return doc.Exists() && !stconfig.Lookup(doc, folder).Exists()
}

// presenceOfFolder lets authors make a folder. guardTable decides about removals.
func presenceOfFolder(_ guard, p place) string {
	return freeWhere(!p.removed())
}

// presenceOfDevice lets authors add a registered device.
func presenceOfDevice(g guard, p place) string {
	if p.changed() || g.isRegistered(p.names[1]) {
		return freeWhere(!p.removed())
	}
	return "the device is not registered here"
}

func (g guard) isRegistered(text string) bool {
	id, err := fleet.ParseDeviceID(text)
	return err == nil && g.facts.Registered != nil && g.facts.Registered(id)
}

// share lets authors share a folder of theirs with registered devices, and end such shares.
func share(g guard, p place) string {
	switch {
	case strings.EqualFold(p.names[3], g.own) && !p.removed(): // Each daemon puts its own device there by itself.
		return ""
	case !p.changed() && !g.isRegistered(p.names[3]):
		return "it would be shared with a device that is not registered here"
	case !g.isAuthors(keyOf(p.names[:2])):
		return "a folder that templates of authors did not make would be shared with other devices than before"
	}
	return ""
}

// ofNewShare lets authors give a new share of their folder an encryption password.
func ofNewShare(g guard, p place) string {
	if p.to.Kind() == stconfig.String && p.to.Str() == "" && !p.changed() {
		return ""
	}
	was := stconfig.Lookup(g.observed, keyOf(p.names[:4]))
	return freeWhere(!was.Exists() && p.to.Kind() == stconfig.String && g.isAuthors(keyOf(p.names[:2])))
}

// addresses lets authors set two kinds of addresses for a device: `dynamic`, and addresses with the host that the
// template function devices() gives for this device.
func addresses(g guard, p place) string {
	id, err := fleet.ParseDeviceID(p.names[1])
	known := ""
	if err == nil && g.facts.AddressOf != nil {
		known = g.facts.AddressOf(id)
	}
	if p.to.Kind() != stconfig.Array || p.to.Len() == 0 || p.to.Len() > 10 {
		return beyond
	}
	for at := range p.to.Values() {
		if at.Kind() != stconfig.String || at.Str() != "dynamic" && !isAddressOf(at.Str(), known) {
			return "it is not the address that devices() gives of this device"
		}
	}
	return ""
}

// isAddressOf reports whether text, an address as in a daemon's list of devices, names this host, with a valid port or
// without a port. It returns false if host is "".
func isAddressOf(text, host string) bool {
	for _, scheme := range []string{"tcp://", "tcp4://", "tcp6://", "quic://", "quic4://", "quic6://"} {
		rest, is := strings.CutPrefix(text, scheme)
		if !is || host == "" {
			continue
		}
		if at, port, found := cutPort(rest); at == strings.Trim(host, "[]") && (!found || port > 0) {
			return true
		}
	}
	return false
}

// cutPort splits HOST or HOST:PORT. The port is 0 where the text has no valid one.
func cutPort(text string) (host string, port int, found bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || strings.HasSuffix(text, "]") {
		return strings.Trim(text, "[]"), 0, false
	}
	n, err := strconv.ParseUint(text[colon+1:], 10, 16)
	if err != nil {
		n = 0
	}
	return strings.Trim(text[:colon], "[]"), int(n), true
}

// firstVersioning lets authors switch on versioning for a folder that has none.
func firstVersioning(g guard, p place) string {
	if p.to.Str() == "" && !p.changed() {
		return ""
	}
	was := stconfig.Lookup(g.observed, keyOf(p.names[:2])).Get("versioning").Get("type").Str()
	if was != "" {
		return "fewer old versions might be kept than before"
	}
	return oneOf("simple", "trashcan", "staggered")(g, p)
}

// keepsAtLeast lets authors set a limit on how many or how old versions are kept, within a range and not below the
// limit before. usual is the limit that a daemon uses if the parameter is missing. forever says whether "0", which is
// no limit, is allowed.
func keepsAtLeast(usual string, least, most int64, forever bool) func(guard, place) string {
	return func(g guard, p place) string {
		was := stconfig.Lookup(g.observed, keyOf(p.names[:2])).Get("versioning")
		n, ok := limit(p.to.Str())
		if p.to.Kind() != stconfig.String || !ok || n == noLimit && !forever || n != noLimit && (n < least || n > most) {
			return beyond
		}
		if was.Get("type").Str() == "" {
			return ""
		}
		before := usual
		if p.changed() {
			before = p.from.Str()
		}
		if had, ok := limit(before); !ok || n < had {
			return "fewer old versions might be kept than before"
		}
		return ""
	}
}

const noLimit = 1 << 62

// limit parses a limit of versioning; 0 becomes noLimit. ok is false if text is no number, or a negative one.
func limit(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if n == 0 {
		n = noLimit
	}
	return n, err == nil && n > 0
}

// authorsPatterns lets authors set the ignore patterns of folders that their templates made, except patterns that
// include a file.
func authorsPatterns(g guard, p place) string {
	switch files := includedFiles(p.to); {
	case len(files) > 0:
		return "it includes the file " + strconv.Quote(files[0]) + ": a symbolic link that another device sent may lead " +
			"anywhere, and the folder's error quotes what is no pattern"
	case p.removed(), !g.isAuthors(folders.Child(p.names[1])):
		return notAuthors
	}
	return ""
}
