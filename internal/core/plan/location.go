package plan

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"muster/internal/fleet"
)

// location is a directory on the daemon's machine, as an absolute and cleaned path. Two texts for one directory give
// the same location.
type location struct {
	volume string   // "C:" on Windows, in upper case; "" elsewhere
	names  []string // from the root of the volume
	upward bool     // The text contained `..`, and a symbolic link before it may lead elsewhere.
}

// within reports whether location l is the other location or lies in it. It ignores letter case, and dots and blanks
// at the end of a name, as Windows does. Otherwise somebody could reach a protected directory by another spelling.
func (l location) within(other location) bool { return l.below(other, equalNames) }

func (l location) below(other location, same func(a, b string) bool) bool {
	return l.volume == other.volume && len(l.names) >= len(other.names) &&
		slices.EqualFunc(l.names[:len(other.names)], other.names, same)
}

func equalNames(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, ". "), strings.TrimRight(b, ". "))
}

// hasName reports whether found returns true for a name in l. It leaves out the first skip names.
func (l location) hasName(skip int, found func(name string) bool) bool {
	return len(l.names) > skip && slices.ContainsFunc(l.names[skip:], found)
}

// system holds how the machine of a daemon writes paths, and which directories there need protection.
type system struct {
	windows   bool
	letters   bool // The file system may ignore letter case in names.
	home      location
	sensitive []location // directories of the daemon and of the operating system
}

var unixes = []string{"linux", "darwin", "ios", "freebsd", "openbsd", "netbsd", "dragonfly", "solaris", "illumos",
	"android", "aix"}

// newSystem returns the system that the daemon reported. If the daemon reported too little, s is nil and why says what
// is missing.
func newSystem(known fleet.System) (s *system, why string) {
	s = &system{windows: known.OS == "windows", letters: slices.Contains([]string{"windows", "darwin", "ios"}, known.OS)}
	separator := "/"
	if s.windows {
		separator = `\`
	}
	switch {
	case !s.windows && !slices.Contains(unixes, known.OS):
		return nil, "the daemon's operating system is not known"
	case known.PathSeparator != separator:
		return nil, "the daemon's path separator is not that of its operating system"
	}
	var unclear string
	if s.home, unclear = s.absolute(norm.NFC.String(known.Tilde)); unclear != "" || len(s.home.names) == 0 {
		return nil, "the home directory of the daemon's user is not known"
	}
	s.sensitive = s.sensitiveDirectories(known)
	return s, ""
}

// MayBeTheDaemons reports whether a folder at this path may contain the daemon's own files. That is possible if the
// daemon has not named the directory of its files and the path is in the home directory of the daemon's user.
func MayBeTheDaemons(known fleet.System, path string) bool {
	s, unknown := newSystem(known)
	if unknown != "" || len(known.Directories) > 0 {
		return false
	}
	at, unclear := s.locate(path)
	return unclear == "" && at.within(s.home)
}

// locate returns the directory to which a path leads on the daemon's machine. unclear says why this cannot be known;
// "" if it is known.
func (s *system) locate(text string) (at location, unclear string) {
	rest, home := strings.CutPrefix(text, "~")
	if home && (rest == "" || s.isSeparator(rest[0])) {
		if unclear := s.readable(rest); unclear != "" {
			return at, unclear
		}
		return s.join(s.home, rest)
	}
	return s.absolute(text)
}

func (s *system) isSeparator(b byte) bool { return b == '/' || s.windows && b == '\\' }

func (s *system) absolute(text string) (at location, unclear string) {
	if unclear := s.readable(text); unclear != "" {
		return at, unclear
	}
	if !s.windows {
		if !strings.HasPrefix(text, "/") {
			return at, "is relative: it depends on where the daemon was started"
		}
		return s.join(location{}, text)
	}
	switch {
	case len(text) > 1 && s.isSeparator(text[0]) && s.isSeparator(text[1]):
		return at, "is a UNC or device path: it may lead to any directory of this machine, too"
	case len(text) < 3 || text[1] != ':' || !s.isSeparator(text[2]) || text[0]|0x20 < 'a' || text[0]|0x20 > 'z':
		return at, "names no drive, or no directory from its root"
	}
	return s.join(location{volume: strings.ToUpper(text[:2])}, text[2:])
}

// join appends a relative path to a location and cleans it.
func (s *system) join(base location, rest string) (at location, unclear string) {
	at = location{volume: base.volume, names: slices.Clone(base.names), upward: base.upward}
	for _, name := range strings.FieldsFunc(rest, func(r rune) bool { return r < 0x80 && s.isSeparator(byte(r)) }) {
		switch {
		case name == ".":
		case name == "..":
			at.names, at.upward = at.names[:max(0, len(at.names)-1)], true
		case s.windows && strings.ContainsRune(name, ':'):
			return at, "has a colon: it names a stream of a file"
		case s.windows && shortName.MatchString(name):
			return at, "has a short name such as PROGRA~1: it stands for another directory"
		case s.windows && strings.TrimRight(name, ". ") == "":
			return at, "has a name of nothing but dots and blanks"
		default:
			at.names = append(at.names, name)
		}
	}
	return at, ""
}

var (
	shortName = regexp.MustCompile(`~[0-9]`)
	variable  = regexp.MustCompile(`%[^%/\\]+%|\$[({A-Za-z_]`)
)

// readable returns why a text may mean another path than a person sees in it; "" if it cannot.
func (s *system) readable(text string) (unclear string) {
	switch {
	case strings.ContainsFunc(text, invisible):
		return "has characters that do not show"
	case !norm.NFKC.IsNormalString(text):
		return "has characters that can be mistaken for others, or are written as two"
	case variable.MatchString(text):
		return "names a variable"
	case !s.windows && strings.ContainsRune(text, '\\'):
		return "has a backslash, which separates nothing on this system"
	}
	return ""
}

func invisible(r rune) bool {
	return r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co,
		unicode.Variation_Selector, unicode.Zl, unicode.Zp) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r != ' ' && unicode.Is(unicode.Zs, r)
}

// A folder waits for consent if it is one of these directories, contains one or lies in one: a device that receives
// such a folder's files controls the daemon or the machine. In daemonDirectories Syncthing and its packages keep
// configuration, keys and database by default. The map's key is true for Windows.
var daemonDirectories = map[bool][]string{
	false: {"~/.config/syncthing", "~/.local/state/syncthing", "~/.local/share/syncthing",
		"~/Library/Application Support/Syncthing",
		"/var/lib/syncthing", "/var/lib/syncthing-relaysrv", "/var/lib/syncthing-discosrv", "/var/syncthing",
		"/var/db/syncthing", "/config",
		"/data/data", "/data/user", "/usr/local/etc/syncthing", "/usr/local/var/syncthing", "/opt/homebrew/var/syncthing",
		"~/config", "~/gui", "~/index-v0.14.0.db", "~/index-v2"},
	true: {`~\AppData\Local\Syncthing`, `~\AppData\Roaming\Syncthing`, `C:\ProgramData\Syncthing`, `C:\Syncthing`,
		`~\config`, `~\gui`, `~\index-v0.14.0.db`, `~\index-v2`},
}

var systemDirectories = map[bool][]string{
	false: {"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/root", "/run", "/sbin",
		"/sys", "/usr",
		"/var/db", "/var/lib", "/var/log", "/var/run", "/var/spool", "/snap", "/System", "/Library", "/Applications",
		"/private/etc",
		"/private/var/db", "/private/var/root", "/private/var/run", "/cores", "/system", "/vendor"},
	true: {`C:\Windows`, `C:\Program Files`, `C:\Program Files (x86)`, `C:\ProgramData`, `C:\Boot`, `C:\Recovery`,
		`C:\System Volume Information`, `C:\$Recycle.Bin`},
}

// sensitiveDirectories returns daemonDirectories and systemDirectories of this system, and the directories that the
// daemon named as its own.
func (s *system) sensitiveDirectories(known fleet.System) []location {
	var all []location
	for _, list := range [][]string{daemonDirectories[s.windows], systemDirectories[s.windows], known.Directories} {
		for _, text := range list {
			if at, unclear := s.locate(norm.NFC.String(text)); unclear == "" {
				all = append(all, at)
			}
		}
	}
	return all
}

// sensitivity returns why a folder at a location needs consent even if admins ask for it; "" if it does not.
func (s *system) sensitivity(at location) string {
	inHome := at.within(s.home)
	switch {
	case len(at.names) == 0:
		return "is the root of a file system"
	case at.hasName(s.namesOfHome(at), func(name string) bool { return strings.HasPrefix(name, ".") }):
		return "lies in a directory whose name begins with a dot, where programs keep keys and settings"
	case s.home.within(at):
		return "is or contains the home directory of the daemon's user"
	}
	for _, directory := range s.sensitive {
		directory := s.onVolumeOf(at, directory)
		// The home directory may itself lie in a sensitive directory. Other paths in that home are then allowed.
		if directory.within(at) || at.within(directory) && !(inHome && s.home.within(directory)) {
			return "is, contains or lies in a directory of the daemon itself or of the operating system"
		}
	}
	return ""
}

// namesOfHome returns how many names at the start of `at` are those of the home directory; 0 if `at` lies elsewhere.
// No person chose these names, so rules about names leave them out.
func (s *system) namesOfHome(at location) int {
	if at.within(s.home) {
		return len(s.home.names)
	}
	return 0
}

// onVolumeOf returns a directory of the operating system as if it were on the drive of location `at`, because Windows
// need not be installed on C:.
func (s *system) onVolumeOf(at, directory location) location {
	if s.windows && !directory.within(s.home) {
		directory.volume = at.volume
	}
	return directory
}
