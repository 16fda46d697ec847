package stsim

import (
	"net/url"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
)

const passwordNotice = "authenticationUserAndPassword"

// migrate is what the daemon does to a document of an older version, or of none, also when it comes in a PUT. Fields
// that only old XML files have read as zero, which is how defaults get lost (lib/config/migrations.go).
func (s *schema) migrate(doc stconfig.Value) stconfig.Value {
	version := integerOf(doc.Get("version"))
	if version >= s.version {
		return doc
	}
	options := doc.Get("options")
	if version < 12 {
		options = migrateTo12(options)
		doc = eachMember(doc, "devices", func(d stconfig.Value) stconfig.Value {
			return set(d, "addresses", eachText(d.Get("addresses"), func(a string) string {
				if a == "dynamic" || a == "" {
					return a
				}
				return withTCP(a)
			}))
		})
		doc = eachMember(doc, "folders", func(f stconfig.Value) stconfig.Value { return set(f, "maxConflicts", number(-1)) })
	}
	if version < 14 {
		options = migrateTo14(options)
		doc = eachMember(doc, "folders", func(f stconfig.Value) stconfig.Value {
			return set(f, "type", stconfig.Text("sendreceive"))
		})
	}
	if version < 20 {
		options = set(options, "minHomeDiskFree", percent(0))
		free := percent(0)
		if version < 11 {
			free = percent(1)
		}
		doc = eachMember(doc, "folders", func(f stconfig.Value) stconfig.Value { return set(f, "minDiskFree", free) })
	}
	if version < 22 {
		doc = eachMember(doc, "folders", migrateFolderTo22)
	}
	if version < 24 {
		options = set(options, "urSeen", number(2))
	}
	if version < 25 {
		doc = eachMember(doc, "folders",
			func(f stconfig.Value) stconfig.Value { return set(f, "fsWatcherDelayS", number(10)) })
	}
	if version < 28 {
		options = notice(options, "fsWatcherNotification")
	}
	if version < 29 {
		options = migrateTo29(options)
	}
	if version < 30 {
		options = set(options, "maxFolderConcurrency", number(0))
	}
	if version < 31 {
		options = notice(options, passwordNotice)
	}
	if version < 32 {
		doc = eachMember(doc, "folders", func(f stconfig.Value) stconfig.Value {
			return set(f, "junctionsAsDirs", stconfig.Boolean(true))
		})
	}
	doc = doc.With("options", options)
	if version < 34 && s.migratesFolderPath {
		defaults := doc.Get("defaults")
		doc = doc.With("defaults", set(defaults, "folder", set(defaults.Get("folder"), "path", stconfig.Text(""))))
	}
	if version < 36 {
		doc = eachMember(doc, "folders", func(f stconfig.Value) stconfig.Value { return migrateVersioning(f, version) })
	}
	doc = doc.With("version", number(max(version, min(s.version, 36))))
	return stconfig.Migrate(doc, s.version)
}

// migrateTo12 puts a scheme before every address that lacks tcp, "default" included.
func migrateTo12(o stconfig.Value) stconfig.Value {
	o = set(o, "listenAddresses", eachText(o.Get("listenAddresses"), func(a string) string {
		if a == "" || strings.HasPrefix(a, "tcp://") {
			return a
		}
		return withTCP(a)
	}))
	servers := without(o.Get("globalAnnounceServers"), func(v stconfig.Value) bool {
		return v.Str() == "udp4://announce.syncthing.net:22026" || v.Str() == "udp6://announce-v6.syncthing.net:22026"
	})
	if servers.Len() < o.Get("globalAnnounceServers").Len() {
		servers = stconfig.List(append(slices.Collect(servers.Values()), stconfig.Text("default"))...)
	}
	o = set(o, "globalAnnounceServers", servers)
	if o.Get("localAnnounceMCAddr").Str() == "[ff32::5222]:21026" {
		o = set(o, "localAnnounceMCAddr", stconfig.Text("[ff12::8384]:21027"))
	}
	if integerOf(o.Get("localAnnouncePort")) == 21025 {
		o = set(o, "localAnnouncePort", number(21027))
	}
	return o
}

func withTCP(address string) string {
	u := url.URL{Scheme: "tcp", Host: address}
	return u.String()
}

func eachText(list stconfig.Value, change func(string) string) stconfig.Value {
	members := slices.Collect(list.Values())
	for i, m := range members {
		members[i] = stconfig.Text(change(m.Str()))
	}
	return stconfig.List(members...)
}

func migrateTo14(o stconfig.Value) stconfig.Value {
	if o.Get("releasesURL").Str() == "https://api.github.com/repos/syncthing/syncthing/releases?per_page=30" {
		o = set(o, "releasesURL", stconfig.Text("https://upgrades.syncthing.net/meta.json"))
	}
	o = set(o, "cacheIgnoredFiles", stconfig.Boolean(false))
	o = set(o, "natEnabled", stconfig.Boolean(false))
	for _, name := range []string{"natLeaseMinutes", "natRenewalMinutes", "natTimeoutSeconds"} {
		o = set(o, name, number(0))
	}
	listen := slices.SortedFunc(o.Get("listenAddresses").Values(), func(a, b stconfig.Value) int {
		return strings.Compare(a.Str(), b.Str())
	})
	o = set(o, "listenAddresses", stconfig.List(listen...))
	var servers []stconfig.Value
	for v := range o.Get("globalAnnounceServers").Values() {
		if address, ok := announceV2(v.Str()); ok {
			servers = append(servers, stconfig.Text(address))
		}
	}
	return set(o, "globalAnnounceServers", stconfig.List(servers...))
}

func migrateFolderTo22(f stconfig.Value) stconfig.Value {
	f = set(f, "filesystemType", stconfig.Text("basic"))
	versioning := f.Get("versioning")
	if versioning.Get("type").Str() != "external" {
		return f
	}
	entries := map[string]stconfig.Value{}
	for name, value := range versioning.Get("params").Members() {
		entries[name] = value
	}
	entries["command"] = stconfig.Text(entries["command"].Str() + " %FOLDER_PATH% %FILE_PATH%")
	return set(f, "versioning", set(versioning, "params", dictOf(entries)))
}

func migrateTo29(o stconfig.Value) stconfig.Value {
	on := o.Get("globalAnnounceEnabled").IsTrue() || integerOf(o.Get("urAccepted")) > 0
	o = set(o, "crashReportingEnabled", stconfig.Boolean(on))
	if on {
		return notice(o, "crAutoEnabled")
	}
	return notice(o, "crAutoDisabled")
}

func notice(o stconfig.Value, id string) stconfig.Value {
	return o.With("unackedNotificationIDs",
		stconfig.List(append(slices.Collect(o.Get("unackedNotificationIDs").Values()), stconfig.Text(id))...))
}

// migrateVersioning moves what once were parameters (35) and drops one that is gone (36).
func migrateVersioning(f stconfig.Value, version int64) stconfig.Value {
	v := f.Get("versioning")
	entries := map[string]stconfig.Value{}
	for name, value := range v.Get("params").Members() {
		entries[name] = value
	}
	if version < 35 {
		switch entries["fsType"].Str() {
		case "":
		case "fake":
			v = set(v, "fsType", stconfig.Text("fake"))
		default:
			v = set(v, "fsType", stconfig.Text("basic"))
		}
		path := entries["fsPath"].Str()
		if path == "" {
			path = entries["versionsPath"].Str()
		}
		v = set(v, "fsPath", stconfig.Text(path))
		delete(entries, "fsType")
		delete(entries, "fsPath")
		delete(entries, "versionsPath")
	}
	delete(entries, "cleanInterval")
	return set(f, "versioning", set(v, "params", dictOf(entries)))
}

func percent(n int64) stconfig.Value {
	return stconfig.Obj(stconfig.Member{Name: "value", Value: number(n)},
		stconfig.Member{Name: "unit", Value: stconfig.Text("%")})
}

func eachMember(doc stconfig.Value, list string, change func(stconfig.Value) stconfig.Value) stconfig.Value {
	members := slices.Collect(doc.Get(list).Values())
	for i, m := range members {
		members[i] = change(m)
	}
	return doc.With(list, stconfig.List(members...))
}
