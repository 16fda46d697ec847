package plan

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"muster/internal/fleet"
)

// The directories that no folder may be, contain or lie in without consent: who has them has the daemon, or the
// machine.

// Where Syncthing keeps configuration, keys and database unless it is told otherwise, and where packages of it do.
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

// sensitiveDirectories are those of a system, and those that the daemon names itself.
func (s *system) sensitiveDirectories(known fleet.System) []location {
	var all []location
	for _, list := range [][]string{daemonDirectories[s.windows], systemDirectories[s.windows], known.Directories} {
		for _, text := range list {
			if at, strange := s.locate(norm.NFC.String(text)); strange == "" {
				all = append(all, at)
			}
		}
	}
	return all
}

// sensitivity says why a folder at a location needs consent in every role; "" when there is no reason.
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
		// Where the user's home lies in such a directory, what else is in that home does not count.
		if directory.within(at) || at.within(directory) && !(inHome && s.home.within(directory)) {
			return "is, contains or lies in a directory of the daemon itself or of the operating system"
		}
	}
	return ""
}

// namesOfHome is how many names of a location lead to the home directory: they were not chosen by a person.
func (s *system) namesOfHome(at location) int {
	if at.within(s.home) {
		return len(s.home.names)
	}
	return 0
}

// onVolumeOf is a directory of the operating system on the drive of another location: Windows need not be on C:.
func (s *system) onVolumeOf(at, directory location) location {
	if s.windows && !directory.within(s.home) {
		directory.volume = at.volume
	}
	return directory
}
