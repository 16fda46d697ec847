package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func isRemoved(_ guard, p place) bool       { return p.removed() }
func isChanged(_ guard, p place) bool       { return p.changed() }
func notTrue(_ guard, p place) bool         { return !p.to.IsTrue() }
func isTrueOrChanged(_ guard, p place) bool { return p.changed() && !p.removed() || p.to.IsTrue() }

// sectionGoes reports whether a change removes a section of the configuration, or replaces its list or object by a
// value of another kind.
func sectionGoes(_ guard, p place) bool {
	structured := p.from.Kind() == stconfig.Object || p.from.Kind() == stconfig.Array
	return p.removed() || structured && p.to.Kind() != p.from.Kind()
}

// namelessMembers reports whether a list has members without an ID, or two members with one ID. The other rules could
// not find such members.
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

// mostWorkers is the most hashers, and the most copiers, that a folder may get: far more than a machine has
// processors. Each of them is a goroutine with its own buffer: 1.19.2 with 2,147,483,647 of them dies when it scans.
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

// notSendable reports whether an API key cannot be sent in a header. An empty API key has a rule of its own.
func notSendable(_ guard, p place) bool {
	key := p.to.Str()
	return len(key) > fleet.MaxAPIKeyBytes || key == fleet.MaskedAPIKey || strings.TrimSpace(key) != key ||
		strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
}

// isHidden reports whether the change writes the text that an agent with --observe puts in the place of a secret. A
// restore, a template or a return to the base may lead to such a text.
func isHidden(_ guard, p place) bool { return fleet.IsHidden(p.to.Str()) }

// auditsToFile reports whether the daemon would write its audit log to a named file. A daemon ends at its start when it
// cannot write that file (auditWriter of 1.x and 2.1).
func auditsToFile(g guard, p place) bool {
	was, is := g.observed.Get("options"), p.after.Get("options")
	if strings.EqualFold(p.names[1], "auditFile") {
		return isAuditFile(p.to) && (was.Get("auditEnabled").IsTrue() || is.Get("auditEnabled").IsTrue())
	}
	return p.to.IsTrue() && (isAuditFile(was.Get("auditFile")) || isAuditFile(is.Get("auditFile")))
}

// isAuditFile reports whether a value of auditFile names a file. "-" is standard output, "--" standard error, and ""
// leaves the choice to the daemon.
func isAuditFile(name stconfig.Value) bool { return strings.Trim(name.Str(), "-") != "" }

// getsIntroducer reports whether the change names another device as the introducer of a device that the daemon
// already has.
func getsIntroducer(_ guard, p place) bool { return p.changed() && p.to.Str() != "" }

// passwordMoves reports whether a share that exists at the daemon gets another encryption password. For a new share
// any password is free.
func passwordMoves(_ guard, p place) bool {
	return p.changed() && p.from.Str() != p.to.Str()
}

// runsCommands reports whether a folder's versioning would run a command after the change, or gets another command
// while it still runs one.
func runsCommands(g guard, p place) bool {
	key := folders.Child(p.names[1])
	anotherCommand := len(p.names) > 4 && strings.EqualFold(p.names[4], "command") && p.to.Exists()
	return isExternal(stconfig.Lookup(p.after, key)) || anotherCommand && isExternal(stconfig.Lookup(g.observed, key))
}

// unknownVersioning reports whether the change sets a kind of versioning that no daemon knows. Templates that name such
// a kind are refused earlier, so this finds only a kind that came from a secret.
func unknownVersioning(_ guard, p place) bool {
	return p.to.Exists() && !slices.Contains(stconfig.VersioningTypes, p.to.Str())
}

// notBasic reports whether the change sets another file system than the one on the disk. The others are for tests of
// Syncthing: with millions of made-up files a daemon ran out of memory at every start.
func notBasic(_ guard, p place) bool {
	return p.to.Exists() && p.to.Str() != "" && p.to.Str() != "basic"
}

// leadsOutOfThemes reports whether a theme is more than the name of a directory. Daemons join the name into a path:
// with the theme `../..` a daemon served its own home directory (2.1.3, 1.19.2).
func leadsOutOfThemes(_ guard, p place) bool {
	return strings.ContainsAny(p.to.Str(), `/\:`) || strings.Contains(p.to.Str(), "..")
}

func runsCommandsByDefault(_ guard, p place) bool {
	return isExternal(p.after.Get("defaults").Get("folder"))
}

func isExternal(folder stconfig.Value) bool {
	return strings.EqualFold(strings.TrimSpace(folder.Get("versioning").Get("type").Str()), "external")
}

// passwordHash reports whether the value is a bcrypt hash, as daemons store passwords.
func passwordHash(_ guard, p place) bool { return isHash(p.to) }

func isHash(v stconfig.Value) bool { return len(v.Str()) == 60 && strings.HasPrefix(v.Str(), "$2") }

// whyIncludes returns why ignore patterns that include a file wait for consent; "" if they do not. They wait if the
// path of the file has `..`: the daemon follows it out of the folder, and quotes unreadable lines of the file in the
// folder's error (1.19.2).
func whyIncludes(_ guard, p place) string {
	for _, file := range includedFiles(p.to) {
		if slices.Contains(strings.FieldsFunc(file, isAnySeparator), "..") && !slices.Contains(includedFiles(p.from), file) {
			return fmt.Sprintf("it includes the file %q, which leads upwards with ..", file)
		}
	}
	return ""
}

func includedFiles(lines stconfig.Value) (files []string) {
	for line := range lines.Values() {
		if file, is := stconfig.IncludedFile(line.Str()); is {
			files = append(files, file)
		}
	}
	return files
}

func isAnySeparator(r rune) bool { return r == '/' || r == '\\' }
