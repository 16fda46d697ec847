package plan

import (
	"slices"
	"strings"

	"muster/internal/stconfig"
)

// auditsToFile tells whether the daemon would write its audit log to a file that is named: it ends at its start
// when it cannot (auditWriter of 1.x and 2.1).
func auditsToFile(g guard, p place) bool {
	was, is := g.observed.Get("options"), p.after.Get("options")
	if strings.EqualFold(p.names[1], "auditFile") {
		return isAuditFile(p.to) && (was.Get("auditEnabled").IsTrue() || is.Get("auditEnabled").IsTrue())
	}
	return p.to.IsTrue() && (isAuditFile(was.Get("auditFile")) || isAuditFile(is.Get("auditFile")))
}

// isAuditFile tells a file from standard output and error, and from the daemon's own choice.
func isAuditFile(name stconfig.Value) bool { return strings.Trim(name.Str(), "-") != "" }

// getsIntroducer tells a device that was a person's, or was not there, and would be an introducer's.
func getsIntroducer(_ guard, p place) bool { return p.changed() && p.to.Str() != "" }

// passwordMoves tells whether data would be encrypted otherwise than before. A new share with a password is none.
func passwordMoves(_ guard, p place) bool {
	return p.changed() && p.from.Str() != p.to.Str()
}

// runsCommands tells a folder that is to run a command, or that runs one now and gets another, though it is to stop.
func runsCommands(g guard, p place) bool {
	key := folders.Child(p.names[1])
	anotherCommand := len(p.names) > 4 && strings.EqualFold(p.names[4], "command") && p.to.Exists()
	return isExternal(stconfig.Lookup(p.after, key)) || anotherCommand && isExternal(stconfig.Lookup(g.observed, key))
}

// unknownVersioning tells a kind that only shows once a secret is resolved: any other is an error in the template.
func unknownVersioning(_ guard, p place) bool {
	return p.to.Exists() && !slices.Contains(stconfig.VersioningTypes, p.to.Str())
}

func runsCommandsByDefault(_ guard, p place) bool {
	return isExternal(p.after.Get("defaults").Get("folder"))
}

func isExternal(folder stconfig.Value) bool {
	return strings.EqualFold(strings.TrimSpace(folder.Get("versioning").Get("type").Str()), "external")
}

// passwordHash tells a bcrypt hash, as daemons keep it.
func passwordHash(_ guard, p place) bool { return isHash(p.to) }

func isHash(v stconfig.Value) bool { return len(v.Str()) == 60 && strings.HasPrefix(v.Str(), "$2") }
