package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
)

// These rules of guardTable are about where data may go. Some paths and shares always wait for consent. Others wait
// only if the templates of admins alone do not ask for them.

func folderWithoutPath(_ guard, p place) bool {
	return !p.removed() && isHome(p.to.Get("path"))
}

func sharesHome(_ guard, p place) bool { return !p.within && isHome(p.to) }

// isHome reports whether a folder's path is missing, or leads to the home directory, to the directory in which the
// daemon was started, or to a directory above one of these.
func isHome(at stconfig.Value) bool {
	if at.Kind() != stconfig.String {
		return true
	}
	clean := cleaned(at.Str())
	return clean == "~" || above(clean)
}

// keepsVersionsAmongFiles reports whether old versions of a folder's files would be kept among other files: in the
// folder itself, in a directory above it, or in the home directory. When the daemon cleans up versions, it deletes all
// old files in their directory (lib/versioner of Syncthing 1.12 to 2.1).
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

// versionPaths returns the directories that a folder's versioning names for old versions, without the default one.
// Daemons of different versions have different fields for the directory; versionPaths reads all of them.
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

// defaultVersions is the directory inside a folder where daemons keep old versions by default.
const defaultVersions = ".stversions"

// around reports whether the directory is the folder, a directory above the folder, or the home directory.
func (g guard) around(directoryText, folderText string) bool {
	if s, unknown := g.system(); unknown == "" {
		directory, unclear := s.locate(directoryText)
		folder, unclearToo := s.locate(folderText)
		if unclear == "" && unclearToo == "" && folder.within(directory) {
			return true
		}
	}
	directory, folder := cleaned(directoryText), cleaned(folderText)
	return directory == "~" || directory == "/" || folder == directory || strings.HasPrefix(folder, directory+"/")
}

// above reports whether a cleaned relative path leads to the directory where it starts, or out of it.
func above(clean string) bool {
	return clean == "." || clean == ".." || strings.HasPrefix(clean, "../")
}

func cleaned(text string) string {
	return path.Clean(strings.ReplaceAll(strings.TrimSpace(text), `\`, "/"))
}

// whyPathHeld returns why a folder's path waits for consent; "" if it does not.
func whyPathHeld(g guard, p place) string {
	if p.removed() {
		return ""
	}
	return g.whyPlaceHeld("its path", p, func(s *system) (location, string) { return s.locate(p.to.Str()) })
}

// whyVersionsHeld returns why the directory of a folder's old versions waits for consent; "" if it does not. A
// relative directory is one inside the folder.
func whyVersionsHeld(g guard, p place) string {
	name := strings.ToLower(p.names[len(p.names)-1])
	text := p.to.Str()
	if p.removed() || text == "" || text == defaultVersions || name != "fspath" && name != "versionspath" {
		return ""
	}
	folder := stconfig.Lookup(p.after, keyOf(p.names[:2]))
	return g.whyPlaceHeld("the directory of its old versions", p, func(s *system) (location, string) {
		at, unclear := s.locate(text)
		if unclear == "" || s.isAbsolute(text) {
			return at, unclear
		}
		if unclear := s.readable(text); unclear != "" {
			return at, unclear
		}
		base, unclear := s.locate(folder.Get("path").Str())
		if unclear != "" {
			return base, unclear
		}
		return s.join(base, text)
	})
}

// versionsOutside returns those directories of a folder's old versions that may lie outside of the folder; none
// without versioning.
func (s *system) versionsOutside(folder stconfig.Value) []string {
	if folder.Get("versioning").Get("type").Str() == "" {
		return nil
	}
	inside := func(text string) bool { return !s.isAbsolute(text) }
	return slices.DeleteFunc(versionPaths(folder.Get("versioning")), inside)
}

// isAbsolute reports whether a path is not relative to its folder, so that it may lead out of the folder.
func (s *system) isAbsolute(text string) bool {
	return text[0] == '~' || s.isSeparator(text[0]) || s.windows && strings.ContainsRune(text, ':')
}

func (g guard) whyPlaceHeld(what string, p place, locate func(*system) (location, string)) string {
	s, unknown := g.system()
	if unknown != "" {
		return what + " cannot be judged: " + unknown
	}
	at, unclear := locate(s)
	switch {
	case unclear != "":
		return what + " " + unclear
	case s.sensitivity(at) != "":
		return what + " " + s.sensitivity(at)
	case at.upward: // This holds for admins, too: their program may build the path from a tag, and operators set tags.
		return what + " leads upwards with .."
	}
	return ""
}

// authorsPath lets authors put a folder below a folder root, apart from the device's other folders.
func authorsPath(g guard, p place) string {
	s, unknown := g.system()
	if unknown != "" || p.to.Kind() != stconfig.String {
		return beyond
	}
	at, unclear := s.locate(p.to.Str())
	switch {
	case unclear != "":
		return beyond
	case !g.isAuthors(keyOf(p.names[:2])):
		return notAuthors
	}
	if why := g.whyNotForAuthors(s, at, p); why != "" {
		return itsPath + why
	}
	return ""
}

const itsPath = "its path "

const outsideRoots = "is outside the folder roots"

// programDirectories are names of directories in which programs keep files that control a user's account, wherever
// these directories are, on all systems together. Among them are the names of links that Windows keeps in a profile for
// old programs.
var programDirectories = []string{"AppData", "Library", "bin", "ProgramData", "Application Data", "Local Settings",
	"Start Menu", "Startup", "SendTo", "PowerShell", "WindowsPowerShell", "node_modules"}

// programDirectoriesOfHome are such names, or links to other directories of a profile, directly in the home directory
// or in its documents. In other directories people may use these names for data.
var programDirectoriesOfHome = []string{"Applications", "go", "snap", "scoop", "anaconda3", "miniconda3", "perl5",
	"Cookies", "NetHood", "PrintHood", "Recent", "Templates", "My Documents", "My Music", "My Pictures", "My Videos"}

// toPrograms returns how location `at` stands to a directory of programs: "is", "contains" or "lies in"; "" if it has
// nothing to do with one. On Windows the user's documents, which may lie in OneDrive, contain one: PowerShell runs
// files there.
func (s *system) toPrograms(at location) string {
	isOrLiesIn := func(names, directories []string) string {
		for i, name := range names {
			switch {
			case !slices.ContainsFunc(directories, func(other string) bool { return equalNames(name, other) }):
			case i == len(names)-1:
				return "is"
			default:
				return "lies in"
			}
		}
		return ""
	}
	if how := isOrLiesIn(at.names[s.namesOfHome(at):], programDirectories); how != "" || !at.within(s.home) {
		return how
	}
	inHome := at.names[len(s.home.names):]
	for len(inHome) > 0 && s.windows && holdsDocuments(inHome[0]) {
		if inHome = inHome[1:]; len(inHome) == 0 {
			return "contains"
		}
	}
	if how := isOrLiesIn(inHome[:min(1, len(inHome))], programDirectoriesOfHome); how == "" || len(inHome) == 1 {
		return how
	}
	return "lies in"
}

// holdsDocuments reports whether a directory of this name in a profile of Windows is the user's documents or OneDrive.
func holdsDocuments(name string) bool {
	const oneDrive = "OneDrive" // There may be more text: "OneDrive - Company".
	return equalNames(name, "Documents") ||
		len(name) >= len(oneDrive) && strings.EqualFold(name[:len(oneDrive)], oneDrive)
}

// whyNotForAuthors returns why a folder at location `at` waits for consent if a template of an author asks for it; ""
// if it does not.
func (g guard) whyNotForAuthors(s *system, at location, p place) string {
	how := s.toPrograms(at)
	switch {
	case how != "":
		return how + " a directory of programs"
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
				other, unclear := s.locate(text)
				if unclear != "" || at.within(other) || other.within(at) {
					return fmt.Sprintf("is, contains or lies in that of the folder %q, or of its old versions", id)
				}
			}
		}
	}
	return ""
}

// wasSynced reports whether location `at` lies inside a folder that the device has or ever had, because the files of a
// removed folder stay. If the paths of these folders cannot be read, it returns true.
func (g guard) wasSynced(s *system, at location) bool {
	if g.facts.FolderPaths == nil {
		return false
	}
	paths, err := g.facts.FolderPaths()
	return err != nil || slices.ContainsFunc(paths, func(path string) bool {
		folder, unclear := s.locate(path)
		return unclear == "" && len(at.names) > len(folder.names) && at.within(folder)
	})
}

func (s *system) inRoots(at location, roots []string) bool {
	same := func(a, b string) bool { return a == b }
	if s.letters {
		same = equalNames
	}
	return slices.ContainsFunc(roots, func(text string) bool {
		root, unclear := s.locate(text)
		return unclear == "" && at.below(root, same)
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

// whyNoWindowsPath returns why a daemon on Windows cannot use a path; "" when it can, or when it runs on another
// system.
func whyNoWindowsPath(g guard, p place) string {
	if g.facts.System.OS != "windows" {
		return ""
	}
	return whyMisread(p)
}

// whyMaybeNoWindowsPath returns why a daemon cannot use a path if it runs on Windows; "" when it can, or when its
// system is known. Rules for paths hold every path on an unknown system, so this rule is for the other fields.
func whyMaybeNoWindowsPath(g guard, p place) string {
	if os := g.facts.System.OS; os == "windows" || slices.Contains(unixes, os) {
		return ""
	}
	if why := whyMisread(p); why != "" {
		return "the daemon's operating system is not known: " + why
	}
	return ""
}

// whyMisread returns why Windows reads a path, or the name of a file, as a different one; "" when it does not.
func whyMisread(p place) string {
	if p.removed() || !namesFile(p.names[len(p.names)-1]) {
		return ""
	}
	text := p.to.Str()
	if len(text) > 1 && text[1] == ':' {
		text = text[2:]
	}
	for _, name := range strings.FieldsFunc(text, isAnySeparator) {
		if why := whyNoWindowsName(name); why != "" {
			return fmt.Sprintf("%q in its path %s: Windows would take it for something else", name, why)
		}
	}
	return ""
}

// namesFile reports whether a field of this name holds a path, or the name of a file.
func namesFile(field string) bool {
	field = strings.ToLower(field)
	return strings.HasSuffix(field, "path") || field == "auditfile" || field == "markername"
}

// whyNoWindowsName returns why Windows reads a name as a different name; "" when it does not.
func whyNoWindowsName(name string) string {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch {
	case name == "." || name == "..", name == "~":
		return ""
	case strings.Contains(name, ":"):
		return "names a stream of a file"
	case shortName.MatchString(name):
		return "looks like a short name"
	case strings.TrimRight(name, ". ") != name:
		return "ends in a dot or a blank"
	case slices.Contains(windowsDevices, base):
		return "is the name of a device"
	}
	return ""
}

// windowsDevices are names that mean a device in every directory on Windows, even with a dot and more text after
// them.
var windowsDevices = strings.Fields(
	"CON PRN AUX NUL CLOCK$ CONIN$ CONOUT$ COM0 COM1 COM2 COM3 COM4 COM5 COM6 COM7 COM8 COM9 " +
		"COM¹ COM² COM³ LPT0 LPT1 LPT2 LPT3 LPT4 LPT5 LPT6 LPT7 LPT8 LPT9 LPT¹ LPT² LPT³",
)
