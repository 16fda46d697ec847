package contract

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// forced repeats the experiment behind the table of what daemons force: every field that Muster may write gets several
// values, those out of range included, and what the daemon then shows is what the table says. `make soak` tries all
// values.
var forced = []Check{
	{"a folder keeps its fields as the table says", Writes, func(p *Probe) {
		p.addFolder("plain", "sendreceive")
		p.experiment("folders.plain", path("folders", "plain"))
	}},
	{"an encrypted folder keeps its fields as the table says", Writes, func(p *Probe) {
		p.addFolder("crypt", "receiveencrypted")
		p.experiment("folders.crypt", path("folders", "crypt"))
	}},
	{"a device keeps its fields as the table says", Writes, func(p *Probe) {
		p.MustDo("PUT", "/rest/config/devices", `[{"deviceID":"`+stranger+`"}]`)
		p.experiment("devices."+stranger, path("devices", stranger))
	}},
	{"an untrusted device keeps its fields as the table says", Writes, func(p *Probe) {
		p.MustDo("PUT", "/rest/config/devices", `[{"deviceID":"`+stranger+`","untrusted":true}]`)
		p.experiment("devices."+stranger, path("devices", stranger))
	}},
	{"options are kept as the table says", Writes, func(p *Probe) { p.experiment("options", "/rest/config/options") }},
	{"ldap is kept as the table says", Writes, func(p *Probe) { p.experiment("ldap", "/rest/config/ldap") }},
	{"the default folder is kept as the table says", Writes, func(p *Probe) {
		p.experiment("defaults.folder", "/rest/config/defaults/folder")
	}},
	{"the default device is kept as the table says", Writes, func(p *Probe) {
		p.experiment("defaults.device", "/rest/config/defaults/device")
	}},
	{"gui is kept as the table says", Writes, func(p *Probe) { // in one call: each one restarts the API
		before := p.Get("/rest/config")
		body := stconfig.Obj()
		for name, value := range before.Get("gui").Members() {
			if key := p.keyOf("gui." + name); mayTry(key, value) {
				body = body.With(name, candidates(value)[0])
			}
		}
		want := before
		for name, value := range body.Members() {
			want = stconfig.Replace(want, p.keyOf("gui."+name), value)
		}
		p.MustDo("PATCH", "/rest/config/gui", string(body.JSON()))
		p.shows(stconfig.WithForced(want), "gui "+string(body.JSON()))
	}},
}

// never are fields that no experiment touches: the daemon would speak to other machines, be out of reach, die or make
// another member. Those that are identities do not change.
var never = strings.Fields(`id deviceID path group type
	gui.enabled gui.address gui.apiKey gui.useTLS gui.user gui.password gui.unixSocketPermissions
	options.globalAnnounceServers options.globalAnnounceEnabled options.localAnnounceEnabled options.natEnabled
	options.relaysEnabled options.urAccepted options.startBrowser options.autoUpgradeIntervalH options.stunServers
	options.urURL options.crURL options.releasesURL options.crashReportingEnabled options.upgradeToPreReleases`)

func mayTry(key stconfig.Key, value stconfig.Value) bool {
	name := key.At(key.Len() - 1).Name
	return value.Kind() != stconfig.Object && !slices.Contains(never, name) && !slices.Contains(never, key.String())
}

func (p *Probe) addFolder(id, kind string) {
	p.MustDo("PUT", "/rest/config/folders", `[{"id":"`+id+`","path":"`+p.Folder(id)+`","type":"`+kind+`","paused":true}]`)
}

// experiment tries values at every field of the object at a key, one after the other.
func (p *Probe) experiment(at, endpoint string) {
	p.Helper()
	root := p.keyOf(at)
	tried := 0
	for _, key := range leaves(root, stconfig.Lookup(p.Get("/rest/config"), root)) {
		before := p.Get("/rest/config")
		was := stconfig.Lookup(before, key)
		if !mayTry(key, was) {
			continue
		}
		for _, value := range candidates(was) {
			asked, skips, err := stconfig.Apply(before, fleet.OpSet, key, value, p.ID())
			if err != nil || len(skips) > 0 {
				continue // Muster does not send it
			}
			value = stconfig.Lookup(asked, key)
			answer := p.Do("PATCH", endpoint, string(nested(key, root.Len(), value).JSON()))
			if answer.Status != http.StatusOK {
				p.Logf("%s %s: %d %s", key, value.JSON(), answer.Status, answer.Text)
				asked = before
			}
			p.shows(stconfig.WithForced(asked), key.String()+" "+string(value.JSON()))
			before = p.Get("/rest/config")
			tried++
		}
		p.MustDo("PATCH", endpoint, string(nested(key, root.Len(), was).JSON()))
	}
	if tried == 0 {
		p.Errorf("nothing was tried at %s", at)
	}
}

// shows compares the daemon's document with a predicted one.
func (p *Probe) shows(want stconfig.Value, after string) {
	p.Helper()
	for _, c := range stconfig.Diff(want, p.Get("/rest/config")) {
		p.Errorf("after %s: %s is %s, the table says %s", after, c.Key, jsonOf(c.To), jsonOf(c.From))
	}
}

func jsonOf(v stconfig.Value) string {
	if !v.Exists() {
		return "absent"
	}
	return string(v.JSON())
}

func (p *Probe) keyOf(text string) stconfig.Key {
	p.Helper()
	key, err := stconfig.ParseKey(text)
	if err != nil {
		p.Fatal(err)
	}
	return key
}

// leaves are the keys of all fields of an object, down to those that are no objects.
func leaves(key stconfig.Key, v stconfig.Value) []stconfig.Key {
	if v.Kind() != stconfig.Object {
		return []stconfig.Key{key}
	}
	var all []stconfig.Key
	for name, member := range v.Members() {
		all = append(all, leaves(key.Child(name), member)...)
	}
	return all
}

// candidates are the values that are tried in place of one.
func candidates(was stconfig.Value) []stconfig.Value {
	var all []stconfig.Value
	switch was.Kind() {
	case stconfig.Bool:
		all = []stconfig.Value{stconfig.Boolean(!was.IsTrue())}
	case stconfig.Number:
		for _, n := range []string{"0", "-1", "300", "1", "4", "40000000", "-40000000", "2147483648"} {
			all = append(all, stconfig.Literal(n))
		}
	case stconfig.String:
		all = []stconfig.Value{stconfig.Text(""), stconfig.Text(" x y "), stconfig.Text("never"), stconfig.Text("100%")}
	case stconfig.Array:
		list := func(texts ...string) stconfig.Value {
			var members []stconfig.Value
			for _, text := range texts {
				members = append(members, stconfig.Text(text))
			}
			return stconfig.List(members...)
		}
		all = []stconfig.Value{list(), list("tcp://127.0.0.1:0", " tcp://127.0.0.1:0 ", "kcp://127.0.0.1:0"), list(""),
			list("authenticationUserAndPassword", "tcp://127.0.0.1:0")}
	}
	if os.Getenv("MUSTER_SOAK") != "" {
		return all
	}
	most := 3
	if testing.Short() {
		most = 1
	}
	return all[:min(most, len(all))]
}

// nested is the body of a PATCH that says one value.
func nested(key stconfig.Key, depth int, value stconfig.Value) stconfig.Value {
	for i := key.Len() - 1; i >= depth; i-- {
		value = stconfig.Obj(stconfig.Member{Name: key.At(i).Name, Value: value})
	}
	return value
}
