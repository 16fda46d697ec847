package plan

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"muster/internal/core/stconfig"
)

// guard decides with one table which changes may cost a person access, data or control.
type guard struct {
	own   string
	facts Facts
	// observed is the document before the plan. If a change is left out of the plan, its key keeps this value. So a rule
	// for one key that depends on another key looks at the other key both in observed and in place.after.
	observed stconfig.Value
	base     stconfig.Value        // see Input.Base
	desired  stconfig.Value        // see Input.Desired
	admins   func() stconfig.Value // see Input.ByAdmins; Absent after an error, which is in failed
	failed   *error
	made     func(stconfig.Key) bool // see Input.MadeByAdmins
	why      func(stconfig.Key) Why  // see Input.Why
	system   func() (s *system, unknown string)
}

func newGuard(in Input) guard {
	g := guard{own: string(in.Device), facts: in.Facts, observed: in.Observed, base: in.Base, desired: in.Desired,
		failed: new(error), made: in.MadeByAdmins, why: in.Why}
	if !g.base.Exists() {
		g.base = in.Observed
	}
	if g.made == nil {
		g.made = func(stconfig.Key) bool { return false }
	}
	if g.why == nil {
		g.why = func(stconfig.Key) Why { return Why{} }
	}
	g.admins = sync.OnceValue(func() (doc stconfig.Value) {
		if in.ByAdmins == nil {
			return g.base
		}
		doc, *g.failed = in.ByAdmins()
		return doc
	})
	g.system = sync.OnceValues(func() (*system, string) { return newSystem(in.Facts.System) })
	return g
}

// rule is one row of guardTable. In the pattern `at`, `*` stands in for any one name of a key, and `**` at the end
// for any number of further names.
type rule struct {
	at     string
	class  Class
	when   func(g guard, p place) bool // nil: the row applies always
	reason string
	why    func(g guard, p place) string // replaces when and reason: returns the reason; "" if the row does not apply
}

// place is one key that a change affects: the change's own key, or a key inside a member that the change adds,
// removes or replaces.
type place struct {
	names    []string
	from, to stconfig.Value
	within   bool           // removed together with the member that contains it
	after    stconfig.Value // the whole document after the plan was sent
}

func (p place) removed() bool { return !p.to.Exists() }
func (p place) changed() bool { return p.from.Exists() } // true also for removals

// guardTable decides the class of a change. Of all rows that match any place of the change, the rows of the strictest
// class count. The change gets the reasons of all these rows, because a person consents to all of them. The conditions
// of the rows are in conditions.go, access.go and paths.go.
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
	{at: "gui.apiKey", class: Refused, when: notSendable,
		reason: "Muster could not send this API key and would be locked out: a key is at most 1024 printable ASCII " +
			"characters, without outer blanks"},
	{at: "gui.address", class: Refused, why: whyUnreachable},
	{at: "options.listenAddresses", class: Refused, when: takesAPIPort,
		reason: "the daemon would listen for other devices where its API listens: after its next start it would have no " +
			"API, and end"},
	{at: "folders.*.versioning.type", class: Refused, when: unknownVersioning,
		reason: "there is no versioning of this kind, and a daemon that is told of one dies"},
	{at: "defaults.folder.versioning.type", class: Refused, when: unknownVersioning,
		reason: "there is no versioning of this kind, and a daemon that is told of one dies"},
	{at: "folders.*.filesystemType", class: Refused, when: notBasic,
		reason: "the daemon would make up files in memory in the place of those on the disk, at every start"},
	{at: "defaults.folder.filesystemType", class: Refused, when: notBasic,
		reason: "the daemon would make up files in memory in the place of those on the disk, at every start"},
	{at: "folders.*.versioning.fsType", class: Refused, when: notBasic,
		reason: "the daemon would make up files in memory in the place of those on the disk, at every start"},
	{at: "defaults.folder.versioning.fsType", class: Refused, when: notBasic,
		reason: "the daemon would make up files in memory in the place of those on the disk, at every start"},
	{at: "folders.*.versioning.params.fsType", class: Refused, when: notBasic, // Older daemons read it there.
		reason: "the daemon would make up files in memory in the place of those on the disk, at every start"},
	{at: "defaults.folder.versioning.params.fsType", class: Refused, when: notBasic,
		reason: "the daemon would make up files in memory in the place of those on the disk, at every start"},
	{at: "gui.theme", class: Refused, when: leadsOutOfThemes,
		reason: "the daemon reads a theme's files from the directory of that name: this one leads to other files, and its " +
			"web interface would hand them out, its keys among them"},
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

	{at: "folders.*.path", class: Refused, why: whyNoWindowsPath},
	{at: "defaults.folder.path", class: Refused, why: whyNoWindowsPath},
	{at: "folders.*.markerName", class: Refused, why: whyNoWindowsPath},
	{at: "defaults.folder.markerName", class: Refused, why: whyNoWindowsPath},
	{at: "options.auditFile", class: Refused, why: whyNoWindowsPath},
	{at: "options.defaultFolderPath", class: Refused, why: whyNoWindowsPath},
	{at: "folders.*.versioning.fsPath", class: Refused, why: whyNoWindowsPath},
	{at: "defaults.folder.versioning.fsPath", class: Refused, why: whyNoWindowsPath},
	{at: "folders.*.versioning.params.*", class: Refused, why: whyNoWindowsPath},
	{at: "defaults.folder.versioning.params.*", class: Refused, why: whyNoWindowsPath},

	{at: "**", class: Refused, when: isHidden,
		reason: "an agent with --observe hid this secret, and what stands in its place is not written: give the secret, " +
			"or keep the one that is there"},

	{at: "folders.*", class: Held, when: isRemoved, reason: "the folder would be taken from the device (its files stay)"},
	{at: "devices.*", class: Held, when: isRemoved,
		reason: "the device would be taken out, and out of every folder shared with it"},
	{at: "folders.*.path", class: Held, when: isChanged, reason: "the folder would move to another path"},
	{at: "folders.*.type", class: Held, when: isChanged, reason: "the folder's type decides whose changes win"},
	{at: "folders.*.markerName", class: Held, when: isChanged, reason: "without its marker the folder stops"},
	{at: "folders.*.devices.*.encryptionPassword", class: Held, when: passwordMoves,
		reason: "data encrypted with the old password becomes unreadable, or readable data reaches a device that was not " +
			"trusted"},
	{at: "folders.*.versioning.**", class: Held, when: runsCommands,
		reason: "external versioning runs a command on the device"},
	{at: "defaults.folder.versioning.**", class: Held, when: runsCommandsByDefault,
		reason: "external versioning runs a command on the device"},
	{at: "folders.*.versioning.**", class: Held, when: keepsVersionsAmongFiles,
		reason: "old versions would be kept among other files, and what is old there is deleted"},
	{at: "folders.*.path", class: Held, why: whyPathHeld},
	{at: "defaults.folder.path", class: Held, why: whyPathHeld},
	{at: "folders.*.versioning.**", class: Held, why: whyVersionsHeld},
	{at: "defaults.folder.versioning.**", class: Held, why: whyVersionsHeld},
	{at: "folders.*.markerName", class: Held, why: whyMaybeNoWindowsPath},
	{at: "defaults.folder.markerName", class: Held, why: whyMaybeNoWindowsPath},
	{at: "options.auditFile", class: Held, why: whyMaybeNoWindowsPath},
	{at: "options.defaultFolderPath", class: Held, why: whyMaybeNoWindowsPath},
	{at: "folders.*.versioning.params.*", class: Held, why: whyMaybeNoWindowsPath},
	{at: "defaults.folder.versioning.params.*", class: Held, why: whyMaybeNoWindowsPath},
	{at: "ignores.*", class: Held, why: whyIncludes},
	{at: "defaults.ignores.lines", class: Held, why: whyIncludes},
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

// classify sets the class and the reason of a change, from all places that the change affects. after is the document
// with the whole plan applied.
func (g guard) classify(c *Change, after stconfig.Value) {
	c.Class = Free
	if c.away != "" { // The admin who revoked the device has answered for every daemon.
		c.Reason = c.whyAway()
		return
	}
	places := placesOf(c.Key, c.From, c.send, after)
	var reasons []string
	for i, r := range guardTable {
		if strictness[r.class] < strictness[c.Class] || inOtherSection(patterns[i], places[0].names) {
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
	if member && !c.send.Exists() { // The first reason is about the member itself, and covers everything inside.
		reasons = reasons[:min(1, len(reasons))]
	}
	if c.Class != Refused {
		if reason := g.whyAuthors(c, after); reason != "" {
			c.Class, reasons = Held, append(reasons, reason)
		}
	}
	c.Reason = strings.Join(reasons, "; ")
	c.Access = isKey(c.Key, "gui", "address") || isKey(c.Key, "gui", "useTLS") || isKey(c.Key, "gui", "apiKey")
	switch {
	case c.Class == Refused && c.Returns && isKey(c.Key, "gui", "password") && isHash(c.send):
		c.Class, c.OnlyKeep = Held, true
		c.Reason = "no template asks for it any more, and the password that was there before cannot be written back: keep " +
			"this one, choose another value, or set one"
	case c.revoked && c.Class != Refused:
		c.Class, c.Reason = Free, c.bringer()+" added it again after it was revoked: "+namesOf(c.Templates)+
			" it, and a person consented"
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

// whyAway returns the reason of a change that takes a revoked device away.
func (c *Change) whyAway() string {
	if c.revoked {
		return c.bringer() + " added it again: it is " + c.away
	}
	return "the device is " + c.away
}

// bringer returns a text that names who added a member again.
func (c *Change) bringer() string {
	if c.introducer != "" {
		return "the introducer " + c.introducer
	}
	if by := c.From.Get("introducedBy").Str(); by != "" {
		return "the introducer " + by
	}
	return "somebody at the daemon"
}

// namesOf returns the beginning of a sentence: which templates remove something. An object must follow.
func namesOf(templates []int64) string {
	switch len(templates) {
	case 0:
		return "templates remove"
	case 1:
		return fmt.Sprintf("template %d removes", templates[0])
	}
	return "templates " + listed(templates) + " remove"
}

// reasonAt returns the row's reason for a place, "" when the row does not apply there.
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

// patterns are the `at` of the table's rows, split into names.
var patterns = func() [][]string {
	split := make([][]string, len(guardTable))
	for i, r := range guardTable {
		split[i] = strings.Split(r.at, ".")
	}
	return split
}()

// inOtherSection reports whether a row's pattern belongs to another top-level section of the configuration than a key
// with these names. It is a quick check before the full match.
func inOtherSection(pattern, names []string) bool {
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

// placesOf returns all places that a change affects: its key and, where a whole value is added, removed or replaced,
// every differing key inside.
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

// named visits the names of what a value contains: the fields of an object, and the IDs of a list's members.
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
