// Package guard lists everything that a template could do to lose access to a daemon, its data or control over it, in
// every spelling. The same cases test what package plan refuses or holds, and what a whole server never sends.
package guard

import (
	"fmt"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// The scene of every case: a folder that is shared with a peer, encrypted. Prepare makes it.
const (
	Folder                = "photos-x4kd"
	Peer   fleet.DeviceID = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
)

// Threat is one way to lose something, as one place in the document and what would stand there.
type Threat struct {
	Name  string
	Key   string
	Value string // JSON; HOST and PORT stand for the address at which the daemon's API listens, OWN for its device
	Class plan.Class
}

const external = `{"type": "external", "params": {"command": "/bin/x"}}`

// Threats are the rows of the guard table, each at a key of its own.
var Threats = []Threat{
	{"the API is gone after a restart", "gui.enabled", `false`, plan.Refused},
	{"no API key", "gui.apiKey", `""`, plan.Refused},
	{"a blank API key", "gui.apiKey", `"  "`, plan.Refused},
	{"an API key that no header can hold", "gui.apiKey", `"schlüssel-0123456789"`, plan.Refused},
	{"an API key with a blank at its end", "gui.apiKey", `"0123456789abcdef "`, plan.Refused},
	{"listening where the API is", "options.listenAddresses", `["tcp://HOST:PORT"]`, plan.Refused},
	{"listening everywhere where the API is", "options.listenAddresses",
		`["quic://127.0.0.1:22099", "tcp4://0.0.0.0:PORT"]`, plan.Refused},
	{"the device distrusts itself", "devices.OWN.untrusted", `true`, plan.Refused},
	{"another port", "gui.address", `"HOST:9"`, plan.Held},
	{"another port at another host", "gui.address", `"192.0.2.1:9"`, plan.Refused},
	{"a port by name", "gui.address", `"HOST:http"`, plan.Refused},
	{"another host", "gui.address", `"192.0.2.1:PORT"`, plan.Refused},
	{"no port", "gui.address", `"HOST"`, plan.Refused},
	{"no address", "gui.address", `""`, plan.Refused},
	{"a socket", "gui.address", `"unix:///run/st.sock"`, plan.Refused},
	{"a hash as password", "gui.password", `"$2a$10$KxrCbGMSDMIcKnDZgVcTzOZuVWQm7nQcGF0m6K1cYJ3Hq4uB9VwZK"`,
		plan.Refused},
	{"more hashers than memory", "folders.photos-x4kd.hashers", `2147483647`, plan.Refused},
	{"more copiers than memory", "defaults.folder.copiers", `2147483647`, plan.Refused},
	{"made-up files", "folders.photos-x4kd.filesystemType", `"fake"`, plan.Refused},
	{"made-up files in every new folder", "defaults.folder.filesystemType", `"fake"`, plan.Refused},
	{"old versions in a made-up file system", "folders.photos-x4kd.versioning.fsType", `"fake"`,
		plan.Refused},
	{"a theme that is the daemon's home", "gui.theme", `"../.."`, plan.Refused},
	{"a theme by its path", "gui.theme", `"/etc"`, plan.Refused},
	{"a theme by its path on Windows", "gui.theme", `"..\\.."`, plan.Refused},
	{"the home directory", "folders.photos-x4kd.path", `"~"`, plan.Refused},
	{"the home directory in other words", "folders.photos-x4kd.path", `"~/x/.."`, plan.Refused},
	{"the daemon's own directory", "folders.photos-x4kd.path", `"./"`, plan.Refused},
	{"no path", "folders.photos-x4kd.path", `""`, plan.Refused},
	{"the wildcard address", "gui.address", `"0.0.0.0:PORT"`, plan.Held},
	{"another API key", "gui.apiKey", `"abcdefabcdef"`, plan.Held},
	{"TLS", "gui.useTLS", `true`, plan.Held},
	{"another user", "gui.user", `"mallory"`, plan.Held},
	{"another password", "gui.password", `"hunter2"`, plan.Held},
	{"another way to log in", "gui.authMode", `"ldap"`, plan.Held},
	{"administration without password", "gui.insecureAdminAccess", `true`, plan.Held},
	{"no host check", "gui.insecureSkipHostcheck", `true`, plan.Held},
	{"the GUI in a frame of others", "gui.insecureAllowFrameLoading", `true`, plan.Held},
	{"other discovery servers", "options.globalAnnounceServers", `["https://evil.example/"]`, plan.Held},
	{"another directory server", "ldap.address", `"ldap.example:389"`, plan.Held},
	{"a folder moves", "folders.photos-x4kd.path", `"/srv/elsewhere"`, plan.Held},
	{"a folder receives only", "folders.photos-x4kd.type", `"receiveonly"`, plan.Held},
	{"old versions among the files", "folders.photos-x4kd.versioning",
		`{"type": "trashcan", "params": {"cleanoutDays": "1"}, "fsPath": "."}`, plan.Held},
	{"old versions in the home directory", "folders.photos-x4kd.versioning", `{"type": "simple", "fsPath": "~"}`,
		plan.Held},
	{"another marker", "folders.photos-x4kd.markerName", `".other"`, plan.Held},
	{"versioning runs a command", "folders.photos-x4kd.versioning", external, plan.Held},
	{"versioning runs a command by default", "defaults.folder.versioning", external, plan.Held},
	{"another encryption password", "folders.photos-x4kd.devices." + string(Peer) + ".encryptionPassword", `"other"`,
		plan.Held},
	{"no encryption password", "folders.photos-x4kd.devices." + string(Peer) + ".encryptionPassword", `""`, plan.Held},
	{"an introducer", "devices." + string(Peer) + ".introducer", `true`, plan.Held},
	{"a device becomes an introducer's", "devices." + string(Peer) + ".introducedBy",
		`"K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"`, plan.Held},
	{"folders accepted without asking", "devices." + string(Peer) + ".autoAcceptFolders", `true`, plan.Held},
	{"every new device an introducer", "defaults.device.introducer", `true`, plan.Held},
	{"folders of every new device accepted", "defaults.device.autoAcceptFolders", `true`, plan.Held},
	{"other releases", "options.releasesURL", `"https://evil.example/"`, plan.Held},
	{"other crash reports", "options.crURL", `"https://evil.example/"`, plan.Held},
	{"other usage reports", "options.urURL", `"https://evil.example/"`, plan.Held},
}

// thousands is a list of addresses that would take all ports of a machine.
var thousands = func() string {
	addresses := make([]string, 3000)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("%q", fmt.Sprint("tcp://:", 30000+i))
	}
	return "[" + strings.Join(addresses, ", ") + "]"
}()

// AuthorThreats are held unless admins ask for them: one for each class of keys that authorTable has no row for, and
// values beyond its rows.
var AuthorThreats = []Threat{
	{"junctions lead out of a folder", "folders.photos-x4kd.junctionsAsDirs", `true`, plan.Held},
	{"junctions lead out of every new folder", "defaults.folder.junctionsAsDirs", `true`, plan.Held},
	{"a folder scanned all the time", "folders.photos-x4kd.rescanIntervalS", `1`, plan.Held},
	{"no conflicting copies", "folders.photos-x4kd.maxConflicts", `0`, plan.Held},
	{"deletions ignored", "folders.photos-x4kd.ignoreDelete", `true`, plan.Held},
	{"versioning of a person's folder", "folders.photos-x4kd.versioning.type", `"trashcan"`, plan.Held},
	{"a rate that stops syncing", "options.maxSendKbps", `1`, plan.Held},
	{"every folder at once", "options.maxFolderConcurrency", `100000`, plan.Held},
	{"no connections", "options.connectionLimitMax", `1`, plan.Held},
	{"a few connections only", "options.connectionLimitEnough", `1`, plan.Held},
	{"listening at thousands of addresses", "options.listenAddresses", thousands, plan.Held},
	{"a relay to listen at", "options.listenAddresses", `["default", "relay://evil.example:443"]`, plan.Held},
	{"crash reports", "options.crashReportingEnabled", `true`, plan.Held},
	{"absurd parameters of versioning", "folders.photos-x4kd.versioning",
		`{"type": "staggered", "params": {"cleanInterval": "1", "keep": "2147483647"}}`, plan.Held},
	{"other STUN servers", "options.stunServers", `["evil.example:3478"]`, plan.Held},
	{"usage reports", "options.urAccepted", `3`, plan.Held},
	{"pre-releases", "options.upgradeToPreReleases", `true`, plan.Held},
	{"upgrades at another pace", "options.autoUpgradeIntervalH", `7`, plan.Held},
	{"other addresses of a peer", "devices." + string(Peer) + ".addresses", `["tcp://192.0.2.1:22000"]`, plan.Held},
}

// Loss is a template that would take something away.
type Loss struct {
	What  string // key of what would go; "": the whole configuration as it should be
	Class plan.Class
	Op    fleet.Op
	Key   string
	Value string // JSON; OWN stands for the device's own ID, own for the same in lower case
}

// Losses are what `remove`, and `set` with less, could take. Where the class is "", the body is an error.
var Losses = []Loss{
	{"devices.OWN", plan.Refused, "remove", "devices.OWN", `true`},
	{"devices.OWN", plan.Refused, "remove", "devices.own", `true`},
	{"devices.OWN", plan.Refused, "remove", "devices", `["OWN"]`},
	{"devices.OWN", plan.Refused, "remove", "DEVICES", `[{"deviceID": "own"}]`},
	{"devices.OWN", plan.Refused, "remove", "devices.*", `true`},
	{"devices.PEER", plan.Held, "remove", "devices.PEER", `true`},
	{"devices.PEER", plan.Held, "remove", "Devices.peer", `true`},
	{"devices.PEER", plan.Held, "remove", "devices", `["PEER"]`},
	{"devices.PEER", plan.Held, "remove", "", `{"devices": ["PEER"]}`},
	{"devices.PEER", plan.Held, "remove", "devices.*", `true`},
	{"devices.PEER", plan.Held, "set", "devices", `[]`},
	{"devices.PEER", plan.Held, "set", "DEVICES", `[]`},
	{"folders.photos-x4kd", plan.Held, "remove", "folders.photos-x4kd", `true`},
	{"folders.photos-x4kd", plan.Held, "remove", "FOLDERS.photos-x4kd", `true`},
	{"folders.photos-x4kd", plan.Held, "remove", "folders", `["photos-x4kd"]`},
	{"folders.photos-x4kd", plan.Held, "remove", "folders.*", `true`},
	{"folders.photos-x4kd", plan.Held, "remove", "", `{"folders": [{"id": "photos-x4kd"}]}`},
	{"folders.photos-x4kd", plan.Held, "set", "folders", `[]`},
	{"", "", "set", "version", `999`},
	{"", "", "merge", "", `{"version": 0}`},
	{"", "", "merge", "", `{"VERSION": 999}`},
	{"", "", "set", "", `{"version": 52}`},
	{"", "", "set", "", `{}`},
	{"", "", "set", "gui", `{}`},
	{"", "", "set", "GUI", `{"enabled": true}`},
	{"", "", "set", "options", `{}`},
	{"", "", "set", "defaults", `{}`},
	{"", "", "set", "folders", `null`},
	{"", "", "set", "devices", `null`},
	{"", "", "merge", "", `{"gui": null}`},
	{"", "", "merge", "", `{"folders": null, "devices": null}`},
	{"", "", "remove", "gui", `true`},
	{"", "", "remove", "", `true`},
	{"", "", "remove", "", `["gui"]`},
	{"", "", "remove", "gui.apiKey", `true`},
	{"", "", "remove", "version", `true`},
	{"", "", "remove", "folders.photos-x4kd.path", `true`},
	{"", "", "append", "gui", `[]`},
}

// Scene is the daemon that a case is about.
type Scene struct {
	Own  fleet.DeviceID
	Host string // of the API, as the configuration and Muster's record have it
	Port string
	Doc  stconfig.Value
}

func (s Scene) fill(text string) string {
	return strings.NewReplacer("HOST", s.Host, "PORT", s.Port, "OWN", string(s.Own), "own",
		strings.ToLower(string(s.Own)),
		"PEER", string(Peer), "peer", strings.ToLower(string(Peer))).Replace(text)
}
