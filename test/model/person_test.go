package model_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"

	"golang.org/x/crypto/bcrypt"
	"pgregory.net/rapid"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// leaves are the fields of interest of folders, devices and options.
var leaves = map[string][]string{
	"folders": {"label", "rescanIntervalS", "paused"},
	"devices": {"name", "maxSendKbps", "untrusted"},
	"options": {"maxSendKbps", "maxRecvKbps"},
	"gui":     {"user", "password"},

	"remoteIgnoredDevices": {"name"},
}

// patterned is the folder whose ignore patterns are of interest. It is there always: patterns stay in the directory of
// a folder that is taken away.
const patterned = "notes"

const patternsPlace = "ignores." + patterned

// has is the daemon's document, with the ignore patterns of the folder as Muster shows them.
func (p *person) has() stconfig.Value {
	lines := []stconfig.Value{}
	for _, line := range p.daemon.Ignores(patterned) {
		lines = append(lines, stconfig.Text(line))
	}
	patterns := stconfig.Member{Name: patterned, Value: stconfig.List(lines...)}
	return p.daemon.Config().With("ignores", stconfig.Obj(patterns))
}

// project is a document as places and their values.
func project(doc stconfig.Value, own fleet.DeviceID) flat {
	f := flat{}
	add := func(place, list string, object stconfig.Value) {
		for _, name := range leaves[list] {
			f[place+"."+name] = string(object.Get(name).JSON())
		}
	}
	member := func(place string, object stconfig.Value) {
		f[place] = there
		if object.Get("introducedBy").Str() != "" {
			f[place] = introduced
		}
	}
	add("options", "options", doc.Get("options"))
	add("gui", "gui", doc.Get("gui"))
	if lines := doc.Get("ignores").Get(patterned); lines.Exists() {
		f[patternsPlace] = string(lines.JSON())
	}
	for device := range doc.Get("devices").Values() {
		if id := device.Get("deviceID").Str(); id != string(own) {
			member("devices."+id, device)
			add("devices."+id, "devices", device)
		}
	}
	for ignored := range doc.Get("remoteIgnoredDevices").Values() {
		place := ignoredDevices + ignored.Get("deviceID").Str()
		member(place, ignored)
		add(place, "remoteIgnoredDevices", ignored)
	}
	for folder := range doc.Get("folders").Values() {
		place := "folders." + folder.Get("id").Str()
		member(place, folder)
		add(place, "folders", folder)
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); id != string(own) && f["devices."+id] != "" { // a daemon drops the others
				member(place+".devices."+id, share)
			}
		}
	}
	return f
}

const passwordPlace = "gui.password"

// phrases are the passwords of templates.
var phrases = []string{"one of templates", "two of templates"}

// user is a user with their name as the password, in `gui`.
func (s *sequence) user(name string) stconfig.Value {
	s.phrases = append(s.phrases, name)
	return stconfig.Obj(stconfig.Member{Name: "user", Value: stconfig.Text(name)},
		stconfig.Member{Name: "password", Value: stconfig.Text(name)})
}

// project is a document as places and their values, with the password in the place of its hash.
func (s *sequence) project(doc stconfig.Value) flat {
	f := project(doc, s.person.daemon.ID())
	hash := doc.Get("gui").Get("password").Str()
	for _, phrase := range slices.Backward(s.phrases) {
		if s.hashed[hash] == "" && bcrypt.CompareHashAndPassword([]byte(hash), []byte(phrase)) == nil {
			s.hashed[hash] = phrase
		}
	}
	if phrase := s.hashed[hash]; phrase != "" {
		f[passwordPlace] = text(phrase)
	}
	return f
}

// defaultsOf are the values of the fields of interest in new folders and devices.
func defaultsOf(doc stconfig.Value) map[string]string {
	defaults := map[string]string{ignoredDevices + "name": `""`}
	for list, of := range map[string]string{"folders": "folder", "devices": "device"} {
		for _, name := range leaves[list] {
			defaults[list+"."+name] = string(doc.Get("defaults").Get(of).Get(name).JSON())
		}
	}
	return defaults
}

func keyOf(place string) stconfig.Key {
	key, err := stconfig.ParseKey(place)
	if err != nil {
		panic(err)
	}
	return key
}

// person is someone at a daemon.
type person struct {
	daemon *stsim.Daemon
	client *http.Client
}

// save brings the daemon to a document: as a whole, or by narrow calls.
func (p *person) save(rt *rapid.T, now, doc stconfig.Value) {
	if patterns := doc.Get("ignores").Get(patterned); !patterns.Equal(now.Get("ignores").Get(patterned)) {
		path := "/rest/db/ignores?folder=" + patterned
		p.request(rt, http.MethodPost, path, stconfig.Obj(stconfig.Member{Name: "ignore", Value: patterns}))
	}
	now, doc = now.Without("ignores"), doc.Without("ignores")
	if rapid.Bool().Draw(rt, "whole document") || ignoresOthers(now, doc) || introduces(now, doc) {
		p.request(rt, http.MethodPut, configPath, doc)
		return
	}
	for _, list := range []string{"devices", "folders"} {
		for member := range doc.Get(list).Values() {
			place := configPath + "/" + list + "/" + idOf(member)
			switch was := memberOf(now, list, idOf(member)); {
			case !was.Exists():
				p.request(rt, http.MethodPost, configPath+"/"+list, member)
			case was.Equal(member):
			case rapid.Bool().Draw(rt, "patch"):
				p.request(rt, http.MethodPatch, place, changed(was, member))
			default:
				p.request(rt, http.MethodPut, place, member)
			}
		}
	}
	for _, list := range []string{"folders", "devices"} {
		for member := range now.Get(list).Values() {
			if !memberOf(doc, list, idOf(member)).Exists() {
				p.request(rt, http.MethodDelete, configPath+"/"+list+"/"+idOf(member), stconfig.Value{})
			}
		}
	}
	for _, section := range []string{"options", "gui"} {
		if leaves := changed(now.Get(section), doc.Get(section)); leaves.Len() > 0 {
			p.request(rt, http.MethodPatch, configPath+"/"+section, leaves)
		}
	}
}

// ignoresOthers tells a document with other ignored devices than a daemon has once it has the devices of that document:
// there is no narrow call for them.
func ignoresOthers(now, doc stconfig.Value) bool {
	daemon := unignored(now.With("devices", doc.Get("devices")))
	return !daemon.Get("remoteIgnoredDevices").Equal(doc.Get("remoteIgnoredDevices"))
}

// introduces tells a document with a new device that an introducer brought. A daemon adds it and its shares in one
// edit. By narrow calls, Muster could take the device away again before it is shared with.
func introduces(now, doc stconfig.Value) bool {
	for device := range doc.Get("devices").Values() {
		if device.Get("introducedBy").Str() != "" && !memberOf(now, "devices", idOf(device)).Exists() {
			return true
		}
	}
	return false
}

// unignored is a document as a daemon keeps it: it ignores no device that it has.
func unignored(doc stconfig.Value) stconfig.Value {
	for device := range doc.Get("devices").Values() {
		doc = stconfig.Replace(doc, keyOf(ignoredDevices+device.Get("deviceID").Str()), stconfig.Value{})
	}
	return doc
}

const configPath = "/rest/config"

// changed holds the members of an object that differ from another one's.
func changed(from, to stconfig.Value) stconfig.Value {
	var members []stconfig.Member
	for name, value := range to.Members() {
		if !value.Equal(from.Get(name)) {
			members = append(members, stconfig.Member{Name: name, Value: value})
		}
	}
	return stconfig.Obj(members...)
}

func idOf(member stconfig.Value) string { return member.Get("id").Str() + member.Get("deviceID").Str() }

func memberOf(doc stconfig.Value, list, id string) stconfig.Value {
	return stconfig.Lookup(doc, stconfig.Key{}.Child(list).Child(id))
}

func (p *person) request(rt *rapid.T, method, path string, body stconfig.Value) {
	var text []byte
	if body.Exists() {
		text = body.JSON()
	}
	url := fmt.Sprintf("http://%s:%d%s", p.daemon.Host(), p.daemon.Port(), path)
	request, err := http.NewRequest(method, url, bytes.NewReader(text)) //nolint:noctx // the client has a timeout
	if err != nil {
		rt.Fatal(err)
	}
	request.Header.Set("X-API-Key", p.daemon.APIKey())
	response, err := p.client.Do(request)
	if err != nil && p.hasUser(path, body) {
		return // the API restarts after a change of gui, and the answer may be lost
	}
	if err != nil {
		rt.Fatal(err)
	}
	defer response.Body.Close()
	if answer, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		rt.Fatalf("%s %s: %s %s", method, path, response.Status, answer)
	}
}

// hasUser tells whether the daemon has the user that a write gave it.
func (p *person) hasUser(path string, body stconfig.Value) bool {
	gui := body
	if path != configPath+"/gui" {
		gui = body.Get("gui")
	}
	user := gui.Get("user")
	return user.Exists() && user.Equal(p.daemon.Config().Get("gui").Get("user"))
}
