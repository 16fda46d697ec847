package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// threat is one way to lose access, data or control, as a fragment of the whole document.
type threat struct {
	name  string
	key   string // the exact place
	value string // JSON of what would stand there
	class plan.Class
}

const external = `{"type": "external", "params": {"command": "/bin/x"}}`

var threats = []threat{
	{"the API is gone after a restart", "gui.enabled", `false`, plan.Refused},
	{"no API key", "gui.apiKey", `""`, plan.Refused},
	{"a blank API key", "gui.apiKey", `"  "`, plan.Refused},
	{"another port", "gui.address", `"127.0.0.1:9999"`, plan.Refused},
	{"another host", "gui.address", `"192.0.2.1:8384"`, plan.Refused},
	{"no port", "gui.address", `"127.0.0.1"`, plan.Refused},
	{"no address", "gui.address", `""`, plan.Refused},
	{"a socket", "gui.address", `"unix:///run/st.sock"`, plan.Refused},
	{"a hash as password", "gui.password", `"$2a$10$KxrCbGMSDMIcKnDZgVcTzOZuVWQm7nQcGF0m6K1cYJ3Hq4uB9VwZK"`, plan.Refused},
	{"the home directory", "folders.photos-x4kd.path", `"~"`, plan.Refused},
	{"no path", "folders.photos-x4kd.path", `""`, plan.Refused},
	{"the wildcard address", "gui.address", `"0.0.0.0:8384"`, plan.Held},
	{"another API key", "gui.apiKey", `"abcdefabcdef"`, plan.Held},
	{"TLS", "gui.useTLS", `true`, plan.Held},
	{"another user", "gui.user", `"mallory"`, plan.Held},
	{"another password", "gui.password", `"hunter2"`, plan.Held},
	{"another way to log in", "gui.authMode", `"ldap"`, plan.Held},
	{"administration without password", "gui.insecureAdminAccess", `true`, plan.Held},
	{"no host check", "gui.insecureSkipHostcheck", `true`, plan.Held},
	{"another directory server", "ldap.address", `"ldap.example:389"`, plan.Held},
	{"a folder moves", "folders.photos-x4kd.path", `"/srv/elsewhere"`, plan.Held},
	{"a folder receives only", "folders.photos-x4kd.type", `"receiveonly"`, plan.Held},
	{"another marker", "folders.photos-x4kd.markerName", `".other"`, plan.Held},
	{"versioning runs a command", "folders.photos-x4kd.versioning", external, plan.Held},
	{"versioning runs a command by default", "defaults.folder.versioning", external, plan.Held},
	{"another encryption password", "folders.photos-x4kd.devices." + peer + ".encryptionPassword", `"other"`, plan.Held},
	{"no encryption password", "folders.photos-x4kd.devices." + peer + ".encryptionPassword", `""`, plan.Held},
	{"an introducer", "devices." + peer + ".introducer", `true`, plan.Held},
	{"folders accepted without asking", "devices." + peer + ".autoAcceptFolders", `true`, plan.Held},
	{"every new device an introducer", "defaults.device.introducer", `true`, plan.Held},
	{"folders of every new device accepted", "defaults.device.autoAcceptFolders", `true`, plan.Held},
	{"other releases", "options.releasesURL", `"https://evil.example/"`, plan.Held},
	{"other crash reports", "options.crURL", `"https://evil.example/"`, plan.Held},
	{"other usage reports", "options.urURL", `"https://evil.example/"`, plan.Held},
}

// peer is a device with which the scene's folder photos-x4kd is shared, with an encryption password.
const peer = nora

func guardScene(t *testing.T) *scene {
	c := newScene(t)
	c.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+peer+`", "name": "peer"}]`)
	c.edit(fleet.OpAppend, "folders.photos-x4kd.devices", `[{"deviceID": "`+peer+`", "encryptionPassword": "old"}]`)
	return c
}

// spelling is one way to say a change.
type spelling struct {
	name string
	say  func(c *scene, th threat) (op fleet.Op, key, text string)
}

var spellings = []spelling{
	{"set at the exact key", func(c *scene, th threat) (fleet.Op, string, string) {
		return fleet.OpSet, th.key, c.whole(th)
	}},
	{"merge at the exact key", func(_ *scene, th threat) (fleet.Op, string, string) { return fleet.OpMerge, th.key, th.value }},
	{"merge in other letters", func(_ *scene, th threat) (fleet.Op, string, string) {
		return fleet.OpMerge, shout(th.key), th.value
	}},
	{"merge at the parent", func(_ *scene, th threat) (fleet.Op, string, string) { return above(th, 1) }},
	{"merge at the parent in other letters", func(_ *scene, th threat) (fleet.Op, string, string) {
		op, key, text := above(th, 1)
		return op, shout(key), strings.Replace(text, `"`+last(th.key)+`"`, `"`+strings.ToUpper(last(th.key))+`"`, 1)
	}},
	{"set at the parent, everything else as it is", func(c *scene, th threat) (fleet.Op, string, string) {
		key := keyOf(c.t, th.key)
		parent := stconfig.Lookup(c.observed, key.Parent()).With(key.At(key.Len()-1).Name, parse(c.t, c.whole(th)))
		return fleet.OpSet, key.Parent().String(), string(parent.JSON())
	}},
	{"merge at the root", func(_ *scene, th threat) (fleet.Op, string, string) { return above(th, 99) }},
	{"set at the root", func(c *scene, th threat) (fleet.Op, string, string) {
		doc := stconfig.Replace(c.observed, keyOf(c.t, th.key), parse(c.t, c.whole(th)))
		return fleet.OpSet, "", string(doc.Without("version").JSON())
	}},
	{"append at the root", func(_ *scene, th threat) (fleet.Op, string, string) {
		_, key, text := above(th, 99)
		return fleet.OpAppend, key, text
	}},
	{"every member", func(_ *scene, th threat) (fleet.Op, string, string) {
		return fleet.OpMerge, strings.NewReplacer("photos-x4kd", "*", peer, "*").Replace(th.key), th.value
	}},
}

// whole is the threat's value, an object with the fields of the one that is there.
func (c *scene) whole(th threat) string {
	value := parse(c.t, th.value)
	if now := stconfig.Lookup(c.observed, keyOf(c.t, th.key)); now.Kind() == stconfig.Object {
		for name, member := range value.Members() {
			now = now.With(name, member)
		}
		value = now
	}
	return string(value.JSON())
}

// above merges at a parent that is so many levels up; at most at the root.
func above(th threat, levels int) (fleet.Op, string, string) {
	parts := strings.Split(th.key, ".")
	text := th.value
	for levels > 0 && len(parts) > 0 {
		name := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		levels--
		switch {
		case name == peer:
			text = `[` + strings.Replace(text, "{", `{"deviceID": "`+name+`", `, 1) + `]`
		case name == "photos-x4kd":
			text = `[` + strings.Replace(text, "{", `{"id": "`+name+`", `, 1) + `]`
		default:
			text = fmt.Sprintf(`{%q: %s}`, name, text)
		}
	}
	return fleet.OpMerge, strings.Join(parts, "."), text
}

func last(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// shout changes the letters of the names that are the daemon's, not of identities.
func shout(key string) string {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		if part != "photos-x4kd" {
			parts[i] = strings.ToUpper(part)
		}
	}
	return strings.Join(parts, ".")
}

func parse(t *testing.T, json string) stconfig.Value {
	t.Helper()
	v, err := stconfig.Parse([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var languages = map[string]func(json string) string{
	"hjson": func(json string) string { return json },
	"starlark": func(json string) string {
		return "def template():\n    return json.decode('''" + strings.ReplaceAll(json, `\`, `\\`) + "''')\n"
	},
}

// Every threat, however spelled, is refused or held: none of its keys is among what would be sent.
func TestGuardMatrix(t *testing.T) {
	cases := 0
	for _, th := range threats {
		for _, sp := range spellings {
			for language, write := range languages {
				cases++
				t.Run(strings.Join([]string{th.name, th.key, sp.name, language}, "/"), func(t *testing.T) {
					c := guardScene(t)
					op, key, text := sp.say(c, th)
					_, p, err := c.plan([]fleet.Template{{ID: 1, Op: op, Key: key, Text: write(text)}})
					if err != nil {
						// `append` takes lists only, and a few values are no fragment of their parent: then nothing is sent.
						if op != fleet.OpAppend {
							t.Fatalf("%s %q %s: %v", op, key, text, err)
						}
						return
					}
					c.threatIsKept(t, p, th)
				})
			}
		}
	}
	if cases < 150 {
		t.Errorf("only %d cases", cases)
	}
}

// threatIsKept checks that the change at the threat's key is in the plan with its class, and not among what is sent.
func (c *scene) threatIsKept(t *testing.T, p plan.Plan, th threat) {
	t.Helper()
	key := keyOf(t, th.key)
	found := false
	for _, change := range p.Changes {
		if !change.Key.HasPrefix(key) && !key.HasPrefix(change.Key) {
			continue
		}
		found = true
		if change.Class != th.class || change.Sendable() || change.Reason == "" {
			t.Errorf("%s is %s (%s), want %s", change.Key, change.Class, change.Reason, th.class)
		}
	}
	if !found {
		t.Errorf("no change at %s", th.key)
	}
	for _, w := range plan.Writes(p, c.observed) {
		for _, k := range w.Keys {
			if k.HasPrefix(key) || key.HasPrefix(k) {
				t.Errorf("%s %s carries %s", w.Method, w.Path, k)
			}
		}
	}
}

// What would go away is kept, however it is said.
func TestGuardKeepsMembers(t *testing.T) {
	own := string(stconfig.SampleID)
	for _, tc := range []struct {
		key   string
		class plan.Class
		ops   [][3]string
	}{
		{"devices." + own, plan.Refused, [][3]string{
			{"remove", "devices." + own, "true"}, {"remove", "devices", `["` + own + `"]`}, {"remove", "DEVICES", `[{"deviceID": "` + strings.ToLower(own) + `"}]`},
			{"remove", "devices.*", "true"}, {"remove", "devices." + strings.ReplaceAll(strings.ToLower(own), "-", ""), "true"},
		}},
		{"devices." + peer, plan.Held, [][3]string{
			{"remove", "devices." + peer, "true"}, {"remove", "devices", `["` + peer + `"]`}, {"remove", "devices.*", "true"},
			{"set", "devices", "[]"}, {"set", "Devices", `[{"deviceID": "` + own + `"}]`}, {"remove", "devices." + strings.ToLower(peer), "true"},
		}},
		{"folders.photos-x4kd", plan.Held, [][3]string{
			{"remove", "folders.photos-x4kd", "true"}, {"remove", "folders", `["photos-x4kd"]`}, {"remove", "folders.*", "true"},
			{"set", "folders", "[]"}, {"set", "FOLDERS", `[{"id": "docs-7hq2", "path": "~/Documents"}]`}, {"remove", "", `{"folders": [{"id": "photos-x4kd"}]}`},
		}},
	} {
		for _, op := range tc.ops {
			for language, write := range languages {
				t.Run(fmt.Sprint(op, language), func(t *testing.T) {
					c := guardScene(t)
					before := stconfig.Lookup(c.observed, keyOf(t, tc.key))
					_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.Op(op[0]), Key: op[1], Text: write(op[2])}})
					if err != nil {
						if op[1] != "" { // at the root there may be nothing to remove: then nothing is sent
							t.Error(err)
						}
						return
					}
					for _, change := range p.Changes {
						if change.Key.Equal(keyOf(t, tc.key)) && (change.Class != tc.class || change.Sendable()) {
							t.Errorf("%s is %s, want %s", change.Key, change.Class, tc.class)
						}
					}
					c.write([]fleet.Template{{ID: 1, Op: fleet.Op(op[0]), Key: op[1], Text: write(op[2])}})
					if after := stconfig.Lookup(c.observed, keyOf(t, tc.key)); !after.Exists() || !after.Get("path").Equal(before.Get("path")) {
						t.Errorf("%s is gone", tc.key)
					}
				})
			}
		}
	}
}

func TestGuardOfAddresses(t *testing.T) {
	for _, tc := range []struct {
		name    string
		facts   plan.Facts
		address string
		class   plan.Class
	}{
		{"the command line has the last word", plan.Facts{APIPort: 8384, APIAddress: "127.0.0.1", AddressFixed: true}, "0.0.0.0:8384", plan.Refused},
		{"the same host", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:8384", plan.Held},
		{"the same host as a name", plan.Facts{APIPort: 8384, APIAddress: "nas.lan"}, "NAS.lan:8384", plan.Held},
		{"a name for an address", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "nas.lan:8384", plan.Refused},
		{"loopback while Muster is elsewhere", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "127.0.0.2:8384", plan.Refused},
		{"every address", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, ":8384", plan.Held},
		{"every IPv6 address serves IPv4 too", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "[::]:8384", plan.Held},
		{"every IPv4 address serves no IPv6", plan.Facts{APIPort: 8384, APIAddress: "fd00::1"}, "0.0.0.0:8384", plan.Refused},
		{"mapped", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "[::ffff:10.1.2.3]:8384", plan.Held},
		{"no address known", plan.Facts{APIPort: 8384}, "10.1.2.3:8384", plan.Refused},
		{"no address known, every address", plan.Facts{APIPort: 8384}, "0.0.0.0:8384", plan.Held},
		{"the record's port", plan.Facts{APIPort: 9000, APIAddress: "10.1.2.3"}, "10.1.2.3:9000", plan.Held},
		{"a port by name", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:http", plan.Refused},
		{"port 0", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "10.1.2.3:0", plan.Refused},
		{"with a scheme", plan.Facts{APIPort: 8384, APIAddress: "10.1.2.3"}, "tcp://10.1.2.3:8384", plan.Refused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newScene(t)
			c.facts = tc.facts
			_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: "gui.address", Text: fmt.Sprintf("%q", tc.address)}})
			if err != nil || len(p.Changes) != 1 {
				t.Fatal(p.Changes, err)
			}
			if got := p.Changes[0]; got.Class != tc.class || !got.Access {
				t.Errorf("%s is %s (%s), want %s", tc.address, got.Class, got.Reason, tc.class)
			}
		})
	}
}
