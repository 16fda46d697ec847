package plan

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"muster/internal/fleet"
)

// location is a directory on the daemon's machine: absolute, cleaned, without what two texts of one directory differ
// in.
type location struct {
	volume string   // "C:" on Windows, in upper case; "" elsewhere
	names  []string // from the root of the volume
	upward bool     // the text said `..`: a symbolic link may have led elsewhere first
	// it lies in the folder whose old versions it keeps: a symbolic link that was synced may lead elsewhere
	synced bool
}

// within tells whether a location is another one or lies in it. Letters of either case are the same, and on Windows
// what a name ends in counts no more than there: that is how a path may reach a directory without naming it.
func (l location) within(other location) bool { return l.below(other, equalNames) }

func (l location) below(other location, same func(a, b string) bool) bool {
	return l.volume == other.volume && len(l.names) >= len(other.names) &&
		slices.EqualFunc(l.names[:len(other.names)], other.names, same)
}

func equalNames(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, ". "), strings.TrimRight(b, ". "))
}

// hasName tells whether one of the directories on the way, after the first few, has a name.
func (l location) hasName(after int, is func(name string) bool) bool {
	return len(l.names) > after && slices.ContainsFunc(l.names[after:], is)
}

// system is how paths are written on a daemon's machine.
type system struct {
	windows   bool
	letters   bool // upper and lower case are the same name
	home      location
	sensitive []location // directories of the daemon itself and of the operating system
}

var unixes = []string{"linux", "darwin", "ios", "freebsd", "openbsd", "netbsd", "dragonfly", "solaris", "illumos",
	"android", "aix"}

// newSystem makes sense of what a daemon said of its machine. why says what is missing.
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
	var strange string
	if s.home, strange = s.absolute(norm.NFC.String(known.Tilde)); strange != "" || len(s.home.names) == 0 {
		return nil, "the home directory of the daemon's user is not known"
	}
	s.sensitive = s.sensitiveDirectories(known)
	return s, ""
}

// MayBeTheDaemons tells whether a folder's path leads into the home directory of a user whose daemon has not named its
// own files: they may be there.
func MayBeTheDaemons(known fleet.System, path string) bool {
	s, unknown := newSystem(known)
	if unknown != "" || len(known.Directories) > 0 {
		return false
	}
	at, strange := s.locate(path)
	return strange == "" && at.within(s.home)
}

// locate reads a path as the daemon does. strange says why the text does not show where it leads.
func (s *system) locate(text string) (at location, strange string) {
	rest, home := strings.CutPrefix(text, "~")
	if home && (rest == "" || s.isSeparator(rest[0])) {
		if strange := s.readable(rest); strange != "" {
			return at, strange
		}
		return s.join(s.home, rest)
	}
	return s.absolute(text)
}

func (s *system) isSeparator(b byte) bool { return b == '/' || s.windows && b == '\\' }

func (s *system) absolute(text string) (at location, strange string) {
	if strange := s.readable(text); strange != "" {
		return at, strange
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

// join cleans what follows a location.
func (s *system) join(base location, rest string) (at location, strange string) {
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

// readable tells a text that says what it seems to say.
func (s *system) readable(text string) (strange string) {
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
