package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Where data may go: which paths and shares wait for consent. Some always do; others only where the templates that
// admins saved do not ask for the very same by themselves.

func folderWithoutPath(_ guard, p place) bool {
	return !p.removed() && isHome(p.to.Get("path"))
}

func sharesHome(_ guard, p place) bool { return !p.within && isHome(p.to) }

// isHome tells a path that is missing, or that is the home directory, the daemon's own, or one above these.
func isHome(at stconfig.Value) bool {
	if at.Kind() != stconfig.String {
		return true
	}
	clean := cleaned(at.Str())
	return clean == "~" || above(clean)
}

// keepsVersionsAmongFiles tells whether a folder's old versions would lie where other files do: in the folder itself,
// in one around it, or in the home directory. The cleaning of versions deletes whatever is old enough there
// (lib/versioner of Syncthing 1.12 to 2.1).
func keepsVersionsAmongFiles(g guard, p place) bool {
	key := folders.Child(p.names[1])
	was, is := stconfig.Lookup(g.observed, key), stconfig.Lookup(p.after, key)
	versioning := is.Get("versioning")
	if versioning.Get("type").Str() == "" {
		return false
	}
	for _, text := range versionPaths(versioning) {
		if above(cleaned(text)) || g.around(text, is.Get("path").Str()) || g.around(text, was.Get("path").Str()) {
			return true
		}
	}
	return false
}

// versionPaths are where a folder's old versions would be kept, in all spellings that daemons had.
func versionPaths(versioning stconfig.Value) []string {
	params := versioning.Get("params")
	var all []string
	for _, at := range []stconfig.Value{versioning.Get("fsPath"), params.Get("fsPath"), params.Get("versionsPath")} {
		if text := at.Str(); strings.TrimSpace(text) != "" && text != defaultVersions {
			all = append(all, text)
		}
	}
	return all
}

// defaultVersions is where daemons keep old versions by themselves, in the folder.
const defaultVersions = ".stversions"

// around tells whether a directory is the folder or one above it, or the home directory.
func (g guard) around(directoryText, folderText string) bool {
	if s, unknown := g.system(); unknown == "" {
		directory, strange := s.locate(directoryText)
		folder, strangeToo := s.locate(folderText)
		if strange == "" && strangeToo == "" && folder.within(directory) {
			return true
		}
	}
	directory, folder := cleaned(directoryText), cleaned(folderText)
	return directory == "~" || directory == "/" || folder == directory || strings.HasPrefix(folder, directory+"/")
}

// above tells a relative path that leads to where it starts from, or out of there.
func above(clean string) bool {
	return clean == "." || clean == ".." || strings.HasPrefix(clean, "../")
}

func cleaned(text string) string {
	return path.Clean(strings.ReplaceAll(strings.TrimSpace(text), `\`, "/"))
}

// whyStrayPath says why a folder's path waits for consent, "" when it does not.
func whyStrayPath(g guard, p place) string {
	if p.removed() {
		return ""
	}
	return g.whyStray("its path", p, func(s *system) (location, string) { return s.locate(p.to.Str()) })
}

// whyStrayVersions says the same of the directory of a folder's old versions. One that is relative lies in the folder.
func whyStrayVersions(g guard, p place) string {
	name := strings.ToLower(p.names[len(p.names)-1])
	text := p.to.Str()
	if p.removed() || text == "" || text == defaultVersions || name != "fspath" && name != "versionspath" {
		return ""
	}
	folder := stconfig.Lookup(p.after, keyOf(p.names[:2]))
	return g.whyStray("the directory of its old versions", p, func(s *system) (location, string) {
		at, strange := s.locate(text)
		if strange == "" || s.isAbsolute(text) {
			at.synced = g.syncs(s, p, at)
			return at, strange
		}
		if strange := s.readable(text); strange != "" {
			return at, strange
		}
		base, strange := s.locate(folder.Get("path").Str())
		if strange != "" {
			return base, strange
		}
		at, strange = s.join(base, text)
		at.synced = true
		return at, strange
	})
}

// syncs tells whether a directory lies in the folder of a place, as the folder is or would be.
func (g guard) syncs(s *system, p place, at location) bool {
	if !strings.EqualFold(p.names[0], "folders") {
		return false
	}
	return slices.ContainsFunc([]stconfig.Value{g.observed, p.after}, func(doc stconfig.Value) bool {
		folder, strange := s.locate(stconfig.Lookup(doc, keyOf(p.names[:2])).Get("path").Str())
		return strange == "" && at.within(folder)
	})
}

// versionsOutside are where a folder keeps old versions, but for those in the folder.
func (s *system) versionsOutside(folder stconfig.Value) []string {
	if folder.Get("versioning").Get("type").Str() == "" {
		return nil
	}
	inside := func(text string) bool { return !s.isAbsolute(text) }
	return slices.DeleteFunc(versionPaths(folder.Get("versioning")), inside)
}

// isAbsolute tells what does not lie in the folder, or may not.
func (s *system) isAbsolute(text string) bool {
	return text[0] == '~' || s.isSeparator(text[0]) || s.windows && strings.ContainsRune(text, ':')
}

func (g guard) whyStray(what string, p place, locate func(*system) (location, string)) string {
	s, unknown := g.system()
	if unknown != "" {
		return what + " cannot be judged: " + unknown
	}
	at, strange := locate(s)
	switch {
	case strange != "":
		return what + " " + strange
	case s.sensitivity(at) != "":
		return what + " " + s.sensitivity(at)
	case at.upward: // a tag that an operator sets may be part of the path that an admin's program makes
		return what + " leads upwards with .."
	case g.adminsAsk(keyOf(p.names)):
		return ""
	}
	why := g.whyNotAnAuthors(s, at, p)
	switch {
	case why == "":
		return ""
	case strings.HasPrefix(why, outsideRoots):
		return what + " " + why + g.unlessAdmins(p, "adds a root: muster folder-roots add "+quoted(p.to.Str()))
	}
	return what + " " + why + g.unlessAdmins(p)
}

const outsideRoots = "is outside the folder roots"

// Directories in which programs keep what decides over a user's account, whatever the system.
var programDirectories = []string{"AppData", "Library", "bin", "ProgramData"}

// whyNotAnAuthors says why a template of an author may not put anything somewhere without consent.
func (g guard) whyNotAnAuthors(s *system, at location, p place) string {
	isProgram := func(name string) bool {
		return slices.ContainsFunc(programDirectories, func(program string) bool { return equalNames(name, program) })
	}
	switch {
	case at.synced:
		return "lies in the folder itself, where a symbolic link that another device sends may lead anywhere (" +
			defaultVersions + " is safe)"
	case at.hasName(s.namesOfHome(at), isProgram):
		return "lies in a directory of programs"
	case !s.inRoots(at, g.facts.Roots):
		return outsideRoots + g.rootsInWords()
	case g.wasSynced(s, at):
		return "lies where a folder was earlier: a symbolic link that another device sent may lead anywhere"
	}
	for _, doc := range []stconfig.Value{g.observed, p.after} {
		for folder := range doc.Get("folders").Values() {
			id := folder.Get("id").Str()
			if strings.EqualFold(p.names[0], "folders") && id == p.names[1] {
				continue
			}
			for _, text := range append(s.versionsOutside(folder), folder.Get("path").Str()) {
				other, strange := s.locate(text)
				if strange != "" || at.within(other) || other.within(at) {
					return fmt.Sprintf("is, contains or lies in that of the folder %q, or of its old versions", id)
				}
			}
		}
	}
	return ""
}

// wasSynced tells a directory in a folder that the device has or had: its files stay when it is taken away.
func (g guard) wasSynced(s *system, at location) bool {
	if g.facts.FolderPaths == nil {
		return false
	}
	paths, err := g.facts.FolderPaths()
	return err != nil || slices.ContainsFunc(paths, func(path string) bool {
		folder, strange := s.locate(path)
		return strange == "" && len(at.names) > len(folder.names) && at.within(folder)
	})
}

func (s *system) inRoots(at location, roots []string) bool {
	same := func(a, b string) bool { return a == b }
	if s.letters {
		same = equalNames
	}
	return slices.ContainsFunc(roots, func(text string) bool {
		root, strange := s.locate(text)
		return strange == "" && at.below(root, same)
	})
}

func (g guard) rootsInWords() string {
	const most = 3
	named := g.facts.Roots
	more := ""
	if len(named) > most {
		named, more = named[:most], ", ..."
	}
	return fmt.Sprintf(" (%s%s)", strings.Join(named, ", "), more)
}

// whyStrayShare says why sharing a folder anew waits for consent.
func whyStrayShare(g guard, p place) string {
	id := p.names[3]
	if p.changed() || strings.EqualFold(id, g.own) || g.adminsAsk(keyOf(p.names)) {
		return ""
	}
	device, err := fleet.ParseDeviceID(id)
	folder := keyOf(p.names[:2])
	switch {
	case err != nil || g.facts.Registered == nil || !g.facts.Registered(device):
		return "it would be shared with a device that is not registered here" + g.unlessAdmins(p)
	case section(folder) == "defaults":
		return "every new folder would be shared with this device" + g.unlessAdmins(p)
	case g.made(folder), stconfig.Lookup(g.base, folder).Exists(), stconfig.Lookup(g.admins(), folder).Exists():
		return "a folder that templates of authors did not make would be shared with another device" + g.unlessAdmins(p)
	}
	return ""
}
