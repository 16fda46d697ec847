package plan

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// guard classifies changes by the one table of what may cost a person access, data or control.
type guard struct {
	own   string
	facts Facts
	// what is left out of a plan stays as it is here: a rule that looks at another place looks at both
	observed stconfig.Value
	base     stconfig.Value
	desired  stconfig.Value
	admins   func() stconfig.Value   // see Input.ByAdmins
	made     func(stconfig.Key) bool // see Input.MadeByAdmins
	asked    func(stconfig.Key) Why
	system   func() (s *system, unknown string)
}

func newGuard(in Input) guard {
	g := guard{own: string(in.Device), facts: in.Facts, observed: in.Observed, base: in.Base, desired: in.Desired,
		admins: in.ByAdmins, made: in.MadeByAdmins, asked: in.Why}
	if !g.base.Exists() {
		g.base = in.Observed
	}
	if g.made == nil {
		g.made = func(stconfig.Key) bool { return false }
	}
	if g.asked == nil {
		g.asked = func(stconfig.Key) Why { return Why{} }
	}
	if g.admins == nil {
		g.admins = func() stconfig.Value { return g.base }
	}
	g.system = sync.OnceValues(func() (*system, string) { return newSystem(in.Facts.System) })
	return g
}

// rule is one row of the table. It matches a place, whatever spelling led there: `*` is any one name, `**` at the end
// any further names.
type rule struct {
	at     string
	class  Class
	when   func(g guard, p place) bool // nil: always
	reason string
	why    func(g guard, p place) string // instead of when and reason: "" where the row does not match
}

// place is one changed place: the change's own key, or one inside a member that comes, goes or is replaced.
type place struct {
	names    []string
	from, to stconfig.Value
	within   bool           // goes together with what it lies in
	after    stconfig.Value // the whole document as it would be
}

func (p place) removed() bool { return !p.to.Exists() }
func (p place) changed() bool { return p.from.Exists() } // or removed

// guardTable is read from the top; the rows of the strictest class that match any place of a change decide, each
// with its reason: a person consents to all of them.
var guardTable = []rule{
	{at: "version", class: Refused, reason: "the version of the configuration belongs to the daemon"},
	{at: "*", class: Refused, when: sectionGoes,
		reason: "a section of the configuration cannot go: the daemon would put its defaults in its place"},
	{at: "*", class: Refused, when: namelessMembers,
		reason: "every folder and every device has an ID, and only one of each: a list without cannot be judged"},
	{at: "devices.*", class: Refused, when: ownEntryGoes,
		reason: "this is the device's own entry: without it the daemon is another device"},
	{at: "gui.enabled", class: Refused, when: notTrue, reason: "the daemon's API would be gone after its next start"},
	{at: "gui.apiKey", class: Refused, when: blank,
		reason: "without an API key the daemon makes itself a new one and Muster is locked out"},
	{at: "gui.apiKey", class: Refused, when: unspeakable,
		reason: "Muster could not send this API key and would be locked out: a key is at most 1024 printable ASCII " +
			"characters, without outer blanks"},
	{at: "gui.address", class: Refused, why: whyOutOfReach},
	{at: "options.listenAddresses", class: Refused, when: takesAPIPort,
		reason: "the daemon would listen for other devices where its API listens: after its next start it would have no " +
			"API, and end"},
	{at: "folders.*.versioning.type", class: Refused, when: unknownVersioning,
		reason: "there is no versioning of this kind, and a daemon that is told of one dies"},
	{at: "defaults.folder.versioning.type", class: Refused, when: unknownVersioning,
		reason: "there is no versioning of this kind, and a daemon that is told of one dies"},
	{at: "folders.*.hashers", class: Refused, when: tooManyWorkers,
		reason: "the daemon would start so many workers at once that it runs out of memory, at every start"},
	{at: "folders.*.copiers", class: Refused, when: tooManyWorkers,
		reason: "the daemon would start so many workers at once that it runs out of memory, at every start"},
	{at: "defaults.folder.hashers", class: Refused, when: tooManyWorkers,
		reason: "the daemon would start so many workers at once that it runs out of memory, at every start"},
	{at: "defaults.folder.copiers", class: Refused, when: tooManyWorkers,
		reason: "the daemon would start so many workers at once that it runs out of memory, at every start"},
	{at: "devices.*.untrusted", class: Refused, when: distrustsItself,
		reason: "the device would distrust itself, and take itself out of its folders"},
	{at: "gui.password", class: Refused, when: passwordHash,
		reason: "a password hash is not put back: old daemons would hash it once more and lock the user out; set a " +
			"password instead, or keep the one that is there"},
	{at: "folders.*", class: Refused, when: folderWithoutPath,
		reason: "a folder needs a path: without one a daemon shares the whole home directory"},
	{at: "folders.*.path", class: Refused, when: sharesHome,
		reason: "a folder needs a path: without one a daemon shares the whole home directory"},

	{at: "**", class: Refused, when: isHidden,
		reason: "an agent with --observe hid this secret, and what stands in its place is not written: give the secret, " +
			"or keep the one that is there"},

	{at: "folders.*", class: Held, when: isRemoved, reason: "the folder would be taken from the device (its files stay)"},
	{at: "devices.*", class: Held, when: isRemoved,
		reason: "the device would be taken out, and out of every folder shared with it"},
	{at: "folders.*.path", class: Held, when: isChanged, reason: "the folder would move to another path"},
	{at: "folders.*.type", class: Held, when: isChanged, reason: "the folder's type decides whose changes win"},
	{at: "folders.*.markerName", class: Held, when: isChanged, reason: "without its marker the folder stops"},
	{at: "folders.*.filesystemType", class: Held, when: isChanged,
		reason: "the folder's files would be looked for in another kind of file system"},
	{at: "folders.*.devices.*.encryptionPassword", class: Held, when: passwordMoves,
		reason: "data encrypted with the old password becomes unreadable, or readable data reaches a device that was not " +
			"trusted"},
	{at: "folders.*.versioning.**", class: Held, when: runsCommands,
		reason: "external versioning runs a command on the device"},
	{at: "defaults.folder.versioning.**", class: Held, when: runsCommandsByDefault,
		reason: "external versioning runs a command on the device"},
	{at: "folders.*.versioning.**", class: Held, when: keepsVersionsAmongFiles,
		reason: "old versions would be kept among other files, and what is old there is deleted"},
	{at: "folders.*.path", class: Held, why: whyStrayPath},
	{at: "defaults.folder.path", class: Held, why: whyStrayPath},
	{at: "folders.*.versioning.**", class: Held, why: whyStrayVersions},
	{at: "defaults.folder.versioning.**", class: Held, why: whyStrayVersions},
	{at: "folders.*.junctionsAsDirs", class: Held, why: whyJunctions},
	{at: "defaults.folder.junctionsAsDirs", class: Held, why: whyJunctions},
	{at: "ignores.*", class: Held, why: whyIncludes},
	{at: "defaults.ignores.lines", class: Held, why: whyIncludes},
	{at: "folders.*.devices.*", class: Held, why: whyStrayShare},
	{at: "defaults.folder.devices.*", class: Held, why: whyStrayShare},
	{at: "gui.address", class: Held,
		reason: "the daemon's API would move to another address; the port in the device's record follows it"},
	{at: "gui.useTLS", class: Held, reason: "the daemon's API would be reached in another way"},
	{at: "gui.apiKey", class: Held, reason: "the daemon would get another API key"},
	{at: "gui.user", class: Held, reason: "who may log in at the daemon would change"},
	{at: "gui.password", class: Held, reason: "who may log in at the daemon would change"},
	{at: "gui.authMode", class: Held, reason: "who may log in at the daemon would change"},
	{at: "gui.insecureAdminAccess", class: Held, reason: "it switches a protection of the daemon's API"},
	{at: "gui.insecureSkipHostcheck", class: Held, reason: "it switches a protection of the daemon's API"},
	{at: "gui.insecureAllowFrameLoading", class: Held, reason: "it switches a protection of the daemon's API"},
	{at: "gui.metricsWithoutAuth", class: Held, reason: "it switches a protection of the daemon's API"},
	{at: "ldap.**", class: Held, reason: "who may log in at the daemon would change"},
	{at: "devices.*.introducer", class: Held, when: isTrueOrChanged,
		reason: "an introducer adds and removes devices on its own"},
	{at: "defaults.device.introducer", class: Held, when: isTrueOrChanged,
		reason: "an introducer adds and removes devices on its own"},
	{at: "devices.*.introducedBy", class: Held, when: getsIntroducer,
		reason: "an introducer takes away the devices that it introduced and no longer knows"},
	{at: "devices.*.autoAcceptFolders", class: Held, when: isTrueOrChanged,
		reason: "the other device may add folders on its own"},
	{at: "defaults.device.autoAcceptFolders", class: Held, when: isTrueOrChanged,
		reason: "every new device may add folders on its own"},
	{at: "options.auditEnabled", class: Held, when: auditsToFile,
		reason: "a daemon that cannot write this audit file does not start again"},
	{at: "options.auditFile", class: Held, when: auditsToFile,
		reason: "a daemon that cannot write this audit file does not start again"},
	{at: "options.globalAnnounceServers", class: Held,
		reason: "where the daemon announces itself, and asks for others, would change"},
	{at: "options.releasesURL", class: Held, reason: "upgrades of the daemon would come from there"},
	{at: "options.crURL", class: Held, reason: "crash reports would go there"},
	{at: "options.urURL", class: Held, reason: "usage reports would go there"},
}

var strictness = map[Class]int{Free: 0, Held: 1, Refused: 2}

// classify gives a change its class and reason.
func (g guard) classify(c *Change, after stconfig.Value) {
	c.Class = Free
	places := placesOf(c.Key, c.From, c.send, after)
	var reasons []string
	for i, r := range guardTable {
		if strictness[r.class] < strictness[c.Class] || elsewhere(patterns[i], places[0].names) {
			continue
		}
		for _, p := range places {
			if reason := r.reasonAt(g, patterns[i], p); reason != "" {
				if c.Class != r.class {
					c.Class, reasons = r.class, nil
				}
				if !slices.Contains(reasons, reason) {
					reasons = append(reasons, reason)
				}
				break
			}
		}
	}
	member := c.Key.Len() == 2 && (section(c.Key) == "folders" || section(c.Key) == "devices")
	if member && !c.send.Exists() { // what is in it goes with it
		reasons = reasons[:min(1, len(reasons))]
	}
	c.Reason = strings.Join(reasons, "; ")
	c.Access = isKey(c.Key, "gui", "address") || isKey(c.Key, "gui", "useTLS") || isKey(c.Key, "gui", "apiKey")
	switch {
	case c.Class == Refused && c.Returns && isKey(c.Key, "gui", "password") && isHash(c.send):
		c.Class, c.OnlyKeep = Held, true
		c.Reason = "no template asks for it any more, and the password that was there before cannot be written back: keep " +
			"this one, or set another"
	case c.introducer != "" && !c.To.Exists() && c.Class == Held:
		c.Class, c.Reason = Free, "the introducer "+c.introducer+" adds it again, and templates have revoked it"
	case c.Class == Free && c.earlier:
		c.Class, c.Reason = Held, "Muster's earlier value was put back, and no template asks for it: return it to what it "+
			"was, or keep it"
	case c.Class == Free && member && c.recreates:
		c.Class, c.Reason = Held, "a template had taken it away and no longer does: it would be made again"
	case c.Class == Free && c.implied, c.Class == Held && c.implied && member && !c.To.Exists():
		c.Class, c.Reason = Implied, "a shared folder needs it"
		if !c.To.Exists() {
			c.Reason = "no shared folder needs it any more"
		}
	case c.Class == Held && c.Returns && member && !c.To.Exists():
		c.Reason = "no template asks for it any more: remove it, or keep it as it is"
	}
}

// reasonAt is the row's reason for a place, "" where it does not match.
func (r rule) reasonAt(g guard, pattern []string, p place) string {
	switch {
	case !matches(pattern, p.names):
		return ""
	case r.why != nil:
		return r.why(g, p)
	case r.when != nil && !r.when(g, p):
		return ""
	}
	return r.reason
}

// patterns are the places of the table's rows, name by name.
var patterns = func() [][]string {
	split := make([][]string, len(guardTable))
	for i, r := range guardTable {
		split[i] = strings.Split(r.at, ".")
	}
	return split
}()

// elsewhere tells a row that is about another section.
func elsewhere(pattern, names []string) bool {
	return len(names) > 0 && pattern[0] != "*" && pattern[0] != "**" && !strings.EqualFold(pattern[0], names[0])
}

func matches(pattern, names []string) bool {
	for i, want := range pattern {
		switch {
		case want == "**":
			return true
		case i >= len(names):
			return false
		case want != "*" && !strings.EqualFold(want, names[i]):
			return false
		}
	}
	return len(names) == len(pattern)
}

// placesOf are the place of a change and, where it replaces more than a leaf, every place inside.
func placesOf(key stconfig.Key, from, to, after stconfig.Value) []place {
	names := make([]string, 0, key.Len())
	for i := range key.Len() {
		names = append(names, key.At(i).Name)
	}
	return inside(nil, place{names: names, from: from, to: to, after: after})
}

func inside(places []place, p place) []place {
	places = append(places, p)
	if p.from.Len() == 0 && p.to.Len() == 0 {
		return places
	}
	seen := map[string]bool{}
	for _, v := range []stconfig.Value{p.to, p.from} {
		for name := range named(v) {
			if seen[name] {
				continue
			}
			seen[name] = true
			from, to := member(p.from, name), member(p.to, name)
			if !from.Exists() || !to.Exists() || !from.Equal(to) {
				names := append(slices.Clip(p.names), name)
				places = inside(places, place{names: names, from: from, to: to, within: p.removed(), after: p.after})
			}
		}
	}
	return places
}

// named goes over the members that have a name: fields, and members of lists by their identity.
func named(v stconfig.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range v.Members() {
			if !yield(name) {
				return
			}
		}
		for m := range v.Values() {
			if id := identityOf(m); id != "" && !yield(id) {
				return
			}
		}
	}
}

func member(v stconfig.Value, name string) stconfig.Value {
	if v.Kind() != stconfig.Array {
		return v.Get(name)
	}
	for m := range v.Values() {
		if identityOf(m) == name {
			return m
		}
	}
	return stconfig.Value{}
}

func identityOf(m stconfig.Value) string {
	if id := m.Get("deviceID").Str(); id != "" {
		return id
	}
	return m.Get("id").Str()
}

// The conditions of the table.

func isRemoved(_ guard, p place) bool       { return p.removed() }
func isChanged(_ guard, p place) bool       { return p.changed() }
func notTrue(_ guard, p place) bool         { return !p.to.IsTrue() }
func isTrueOrChanged(_ guard, p place) bool { return p.changed() && !p.removed() || p.to.IsTrue() }

// sectionGoes tells whether a section would be there no more, or be no list or object any more.
func sectionGoes(_ guard, p place) bool {
	structured := p.from.Kind() == stconfig.Object || p.from.Kind() == stconfig.Array
	return p.removed() || structured && p.to.Kind() != p.from.Kind()
}

// namelessMembers tells a list whose members the other rules would not see.
func namelessMembers(_ guard, p place) bool {
	if p.to.Kind() != stconfig.Array || !slices.ContainsFunc([]string{"folders", "devices", "remoteIgnoredDevices"},
		func(list string) bool { return strings.EqualFold(list, p.names[0]) }) {
		return false
	}
	seen := map[string]bool{"": true}
	for m := range p.to.Values() {
		id := identityOf(m)
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}

func ownEntryGoes(g guard, p place) bool {
	return p.removed() && strings.EqualFold(p.names[1], g.own)
}

// mostWorkers is far more than a machine has processors. Each of a folder's hashers and copiers is a goroutine with a
// buffer of its own; 1.19.2 with 2,147,483,647 of them dies when it scans.
const mostWorkers = 1000

func tooManyWorkers(_ guard, p place) bool {
	n, err := strconv.ParseFloat(p.to.Str(), 64)
	return p.to.Kind() == stconfig.Number && (err != nil || n > mostWorkers)
}

func distrustsItself(g guard, p place) bool {
	return strings.EqualFold(p.names[1], g.own) && p.to.IsTrue()
}

func blank(_ guard, p place) bool {
	return p.to.Kind() != stconfig.String || strings.TrimSpace(p.to.Str()) == ""
}

// unspeakable tells a key that cannot be the value of a header. An empty one has a rule of its own.
func unspeakable(_ guard, p place) bool {
	key := p.to.Str()
	return len(key) > fleet.MaxAPIKeyBytes || key == fleet.MaskedAPIKey || strings.TrimSpace(key) != key ||
		strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
}

// isHidden tells what an agent gave in place of a secret. A restore, a template or a return to the base may lead there.
func isHidden(_ guard, p place) bool { return fleet.IsHidden(p.to.Str()) }
