package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// odd is a folder ID with everything that needs escaping, but no slash.
const odd = "x y?#+%ä"

var endpoints = []Check{
	{"only 2.x says where its own files are", Reads, func(p *Probe) {
		const path = "/rest/system/paths"
		if p.V1() {
			p.Refused("GET", path, "", http.StatusNotFound, "")
			return
		}
		paths := p.Get(path)
		for _, name := range []string{"config", "certFile", "keyFile", "database"} {
			if paths.Get(name).Str() == "" {
				p.Errorf("%s is not among %s", name, paths.JSON())
			}
		}
	}},
	{"PATCH merges into a section, PUT replaces it", Opens, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/options", `{"maxSendKbps":7,"minHomeDiskFree":{"value":3}}`)
		p.MustDo("PATCH", "/rest/config/options", `{"MaxRecvKbps":8,"maxSendKbps":null}`)
		o := p.Get("/rest/config/options")
		p.Is(o, "maxSendKbps", "7")
		p.Is(o, "maxRecvKbps", "8")
		p.Is(o, "minHomeDiskFree", `{"value":3,"unit":"%"}`)
		p.Is(o, "globalAnnounceEnabled", "false")
		p.MustDo("PUT", "/rest/config/options", `{"maxSendKbps":9}`)
		o = p.Get("/rest/config/options")
		p.Is(o, "maxSendKbps", "9")
		p.Is(o, "maxRecvKbps", "0")
		p.Is(o, "globalAnnounceEnabled", "true")
		p.Is(o, "relaysEnabled", "true")
		p.MustDo("PATCH", "/rest/config/ldap", `{"bindDN":"x"}`)
		p.Is(p.Get("/rest/config/ldap"), "bindDN", `"x"`)
		p.Is(p.Get("/rest/config/ldap"), "transport", `"plain"`)
		p.Refused("PATCH", "/rest/config/options", `{"maxSendKbps":1.0}`, http.StatusBadRequest, "cannot unmarshal")
		p.Refused("PATCH", "/rest/config/options", ``, http.StatusBadRequest, "unexpected end of JSON input")
	}},
	{"the defaults are sections too", Writes, func(p *Probe) {
		p.MustDo("PATCH", "/rest/config/defaults/folder", `{"rescanIntervalS":77,"id":"never"}`)
		p.MustDo("PATCH", "/rest/config/defaults/device", `{"maxSendKbps":5,"deviceID":"`+stranger+`"}`)
		p.MustDo("PUT", "/rest/config/defaults/ignores", `{"lines":["a","b"]}`)
		d := p.Get("/rest/config").Get("defaults")
		p.Is(d, "folder.rescanIntervalS", "77")
		p.Is(d, "folder.id", `""`)
		p.Is(d, "device.maxSendKbps", "5")
		p.Is(d, "device.deviceID", `""`)
		p.Is(d, "ignores.lines", `["a","b"]`)
		if !d.Get("folder").Equal(p.Get("/rest/config/defaults/folder")) ||
			!d.Get("device").Equal(p.Get("/rest/config/defaults/device")) ||
			!d.Get("ignores").Equal(p.Get("/rest/config/defaults/ignores")) {
			p.Errorf("a section differs from its part of the document")
		}
		p.MustDo("PUT", path("folders", "f"), fmt.Sprintf(`{"id":"f","path":%q}`, p.Folder("f")))
		p.Is(p.Get(path("folders", "f")), "rescanIntervalS", "77")
		p.MustDo("PUT", path("devices", stranger), `{"deviceID":"`+stranger+`"}`)
		p.Is(p.Get(path("devices", stranger)), "maxSendKbps", "5")
		p.MustDo("PUT", "/rest/config/defaults/folder", `{"maxConflicts":3}`)
		p.Is(p.Get("/rest/config/defaults/folder"), "rescanIntervalS", "3600")
		p.Refused("PATCH", "/rest/config/defaults/ignores", `{"lines":[]}`, http.StatusMethodNotAllowed, "")
	}},
	{"a folder by its ID", Writes, func(p *Probe) {
		p.Refused("GET", path("folders", odd), "", http.StatusNotFound, "No folder with given ID")
		p.Refused("PATCH", path("folders", odd), "{}", http.StatusNotFound, "No folder with given ID")
		p.MustDo("PUT", path("folders", odd), fmt.Sprintf(`{"id":%q,"path":%q,"label":"odd"}`, odd, p.Folder("odd")))
		p.Is(p.Get(path("folders", odd)), "label", `"odd"`)
		p.MustDo("PATCH", path("folders", odd), `{"label":"other","paused":null}`)
		f := p.Get(path("folders", odd))
		p.Is(f, "label", `"other"`)
		p.Is(f, "paused", "false")
		p.Refused("PUT", path("folders", odd), `{"path":"x"}`, http.StatusInternalServerError, "folder has empty ID")
		p.Refused("PUT", path("folders", "n"), `{"id":"n","path":""}`, http.StatusInternalServerError,
			"folder has empty path")
		p.Refused("PUT", path("folders", "n"), `{"id":"n","path":5}`, http.StatusBadRequest, "")
		p.MustDo("DELETE", path("folders", odd), "")
		p.Refused("GET", path("folders", odd), "", http.StatusNotFound, "")
		p.MustDo("DELETE", path("folders", odd), "")
	}},
	{"a device by its ID", Writes, func(p *Probe) {
		p.Refused("GET", path("devices", "nonsense"), "", http.StatusBadRequest, "device ID invalid")
		p.Refused("GET", path("devices", stranger), "", http.StatusNotFound, "No device with given ID")
		p.MustDo("PUT", path("devices", stranger), `{"deviceID":"`+strangerPlain+`","name":"s"}`)
		p.Is(p.Get(path("devices", strangerPlain)), "deviceID", `"`+stranger+`"`)
		p.MustDo("PATCH", path("devices", stranger), `{"addresses":["tcp://127.0.0.1:1"]}`)
		d := p.Get(path("devices", stranger))
		p.Is(d, "name", `"s"`)
		p.Is(d, "addresses", `["tcp://127.0.0.1:1"]`)
		p.MustDo("DELETE", path("devices", strangerPlain), "")
		p.Refused("GET", path("devices", stranger), "", http.StatusNotFound, "")
		p.MustDo("DELETE", path("devices", string(p.ID())), "") // comes back at once
		p.Is(p.Get(path("devices", string(p.ID()))), "paused", "false")
	}},
	{"the ID in the body counts, not the one in the path", Writes, func(p *Probe) {
		p.MustDo("PUT", path("folders", "one"), fmt.Sprintf(`{"id":"one","path":%q,"label":"L"}`, p.Folder("one")))
		p.MustDo("PATCH", path("folders", "one"), fmt.Sprintf(`{"id":"two","path":%q}`, p.Folder("two")))
		list := p.Get("/rest/config/folders")
		ids := texts(list, "id")
		if !slices.Contains(ids, "one") || !slices.Contains(ids, "two") {
			p.Fatalf("folders are %v, want a copy", ids)
		}
		p.Is(p.Get(path("folders", "two")), "label", `"L"`)
	}},
	{"PUT of a list adds and replaces, and removes nothing", Writes, func(p *Probe) {
		p.MustDo("PUT", "/rest/config/folders", fmt.Sprintf(`[{"id":"a","path":%q,"label":"1"},{"id":"b","path":%q}]`,
			p.Folder("a"), p.Folder("b")))
		p.MustDo("PUT", "/rest/config/folders", fmt.Sprintf(`[{"id":"a","path":%q}]`, p.Folder("a")))
		p.MustDo("PUT", "/rest/config/folders", `[]`)
		if ids := texts(p.Get("/rest/config/folders"), "id"); !slices.Contains(ids, "a") || !slices.Contains(ids, "b") {
			p.Errorf("folders are %v", ids)
		}
		p.Is(p.Get(path("folders", "a")), "label", `""`)
		p.MustDo("PUT", "/rest/config/devices", `[{"deviceID":"`+stranger+`"}]`)
		p.MustDo("PUT", "/rest/config/devices", `[{"deviceID":"`+another+`"}]`)
		if ids := texts(p.Get("/rest/config/devices"), "deviceID"); len(ids) != 3 {
			p.Errorf("devices are %v", ids)
		}
		p.MustDo("POST", "/rest/config/folders", fmt.Sprintf(`{"id":"c","path":%q}`, p.Folder("c")))
		p.Is(p.Get(path("folders", "c")), "id", `"c"`)
		if got, want := p.Do("PUT", "/rest/config/folders", "nonsense").Status, byVersion(p, 200, 400); got != want {
			p.Errorf("PUT of nonsense: got %d, want %d", got, want)
		}
	}},
	{"a folder with a slash is out of reach of its own path", Writes, func(p *Probe) {
		p.Refused("PUT", "/rest/config/folders/a%2Fb", fmt.Sprintf(`{"id":"a/b","path":%q}`, p.Folder("ab")),
			http.StatusNotFound, "404 page not found")
		p.MustDo("PUT", "/rest/config/folders", fmt.Sprintf(`[{"id":"a/b","path":%q}]`, p.Folder("ab")))
		p.Refused("GET", "/rest/config/folders/a%2Fb", "", http.StatusNotFound, "404 page not found")
		p.Refused("DELETE", "/rest/config/folders/a%2Fb", "", http.StatusNotFound, "404 page not found")
		p.Until("the folder runs", func() error { p.Get("/rest/db/status?folder=a%2Fb"); return nil })
	}},
	{"PATCH grows maps and replaces lists", Writes, func(p *Probe) {
		p.MustDo("PUT", "/rest/config/devices", `[{"deviceID":"`+stranger+`"},{"deviceID":"`+another+`"}]`)
		p.MustDo(
			"PUT",
			path("folders", "f"),
			fmt.Sprintf(
				`{"id":"f","path":%q,"devices":[{"deviceID":%q}],"versioning":{"type":"simple","params":{"keep":"5"},"cleanupIntervalS":77}}`,
				p.Folder("f"),
				stranger,
			),
		)
		p.MustDo("PATCH", path("folders", "f"), `{"versioning":{"params":{"cleanoutDays":"3"}}}`)
		f := p.Get(path("folders", "f"))
		p.Is(f, "versioning.params", `{"keep":"5","cleanoutDays":"3"}`)
		p.Is(f, "versioning.type", `"simple"`)
		p.Is(f, "versioning.cleanupIntervalS", "3600") // back to the default, although nobody named it
		p.MustDo("PATCH", path("folders", "f"), `{"devices":[{"deviceID":"`+another+`"}]}`)
		if ids := texts(p.Get(path("folders", "f")).Get("devices"), "deviceID"); slices.Contains(ids, stranger) ||
			!slices.Contains(ids, another) {
			p.Errorf("the folder's devices are %v", ids)
		}
	}},
	{"a list member in a PATCH inherits from the member that stood at its place", Writes, func(p *Probe) {
		p.MustDo("PUT", "/rest/config/devices", `[{"deviceID":"`+stranger+`"},{"deviceID":"`+another+`"}]`)
		p.MustDo("PUT", path("folders", "f"),
			fmt.Sprintf(`{"id":"f","path":%q,"devices":[{"deviceID":%q,"encryptionPassword":"secret"}]}`, p.Folder("f"),
				stranger))
		was := texts(p.Get(path("folders", "f")).Get("devices"), "deviceID")
		sent := []string{another, string(p.ID()), stranger}
		var members []string
		for _, id := range sent {
			members = append(members, `{"deviceID":"`+id+`"}`)
		}
		p.MustDo("PATCH", path("folders", "f"), `{"devices":[`+strings.Join(members, ",")+`]}`)
		heir := sent[slices.Index(was, stranger)]
		for member := range p.Get(path("folders", "f")).Get("devices").Values() {
			want := `""`
			if member.Get("deviceID").Str() == heir {
				want = `"secret"`
			}
			p.Is(member, "encryptionPassword", want)
		}
	}},
	{"restart-required stays once it is there", Spoils, func(p *Probe) {
		p.Is(p.Get("/rest/config/restart-required"), "requiresRestart", "false")
		p.Is(p.Get("/rest/system/config/insync"), "configInSync", "true")
		p.MustDo("PATCH", "/rest/config/options", `{"maxSendKbps":3,"listenAddresses":["tcp://127.0.0.1:0"]}`)
		p.Is(p.Get("/rest/config/restart-required"), "requiresRestart", "false")
		p.MustDo("PATCH", "/rest/config/options", byVersion(p, `{"databaseTuning":"small"}`, `{"auditEnabled":true}`))
		p.Is(p.Get("/rest/config/restart-required"), "requiresRestart", "true")
		p.MustDo("PATCH", "/rest/config/options", byVersion(p, `{"databaseTuning":"auto"}`, `{"auditEnabled":false}`))
		p.Is(p.Get("/rest/config/restart-required"), "requiresRestart", "true")
		p.Is(p.Get("/rest/system/config/insync"), "configInSync", "false")
	}},
	{"the old form of the document", Writes, func(p *Probe) {
		c := p.Get("/rest/system/config")
		if !c.Equal(p.Get("/rest/config")) {
			p.Errorf("the old form differs")
		}
		p.MustDo("POST", "/rest/system/config", string(c.JSON()))
	}},
	{"ignore patterns", Writes, func(p *Probe) {
		p.MustDo("PUT", path("folders", odd), fmt.Sprintf(`{"id":%q,"path":%q}`, odd, p.Folder("ignores")))
		where := "/rest/db/ignores?folder=x+y%3F%23%2B%25%C3%A4"
		p.Until("the folder runs", func() error {
			if s := p.Get("/rest/db/status?folder=x+y%3F%23%2B%25%C3%A4").Get("state").Str(); s != "idle" {
				return fmt.Errorf("state %q", s)
			}
			return nil
		})
		i := p.Get(where)
		p.Is(i, "ignore", "null")
		p.Is(i, "expanded", "null")
		p.Is(i, "error", "null")
		p.MustDo("POST", where, `{"ignore":["*.tmp","// a comment","(?d)foo"]}`)
		i = p.Get(where)
		p.Is(i, "ignore", `["*.tmp","// a comment","(?d)foo"]`)
		p.Is(
			i,
			"expanded",
			`["*.tmp","**/*.tmp","*.tmp/**","**/*.tmp/**","(?d)foo","(?d)**/foo","(?d)foo/**","(?d)**/foo/**"]`,
		)
		p.MustDo("POST", where, `{"ignore":["[a"]}`)
		i = p.Get(where)
		p.Is(i, "ignore", `["[a"]`)
		if !strings.Contains(i.Get("error").Str(), "invalid pattern") {
			p.Errorf("error is %s", i.Get("error").JSON())
		}
		p.MustDo("POST", where, `{"ignore":[]}`)
		p.Is(p.Get(where), "ignore", "null")
		p.Refused("POST", where, "nonsense", http.StatusInternalServerError, "")
		p.Refused("POST", "/rest/db/ignores?folder=none", `{"ignore":[]}`, http.StatusInternalServerError, "does not exist")
		answer := p.Do("GET", "/rest/db/ignores?folder=none", "")
		if want := byVersion(p, 500, 200); answer.Status != want ||
			!strings.Contains(answer.Text, "folder none does not exist") {
			p.Errorf("an unknown folder: got %d %q, want %d", answer.Status, answer.Text, want)
		}
	}},
	{"who asks to be let in", Spoils, func(p *Probe) {
		p.Is(p.Get("/rest/cluster/pending/devices"), "", "{}")
		p.Is(p.Get("/rest/cluster/pending/folders"), "", "{}")
		p.Refused("GET", "/rest/cluster/pending/folders?device=nonsense", "", http.StatusBadRequest, "")
		p.Refused("DELETE", "/rest/cluster/pending/devices?device=nonsense", "", http.StatusBadRequest, "")
		p.MustDo("DELETE", "/rest/cluster/pending/devices?device="+stranger, "")
		more := p.Watch("PendingDevicesChanged")
		id := string(p.Knock())
		added := more("the device is pending", func(e []Event) bool { return len(e) > 0 })
		p.Is(added[0].Data, "added.0.deviceID", `"`+id+`"`)
		entry := p.Get("/rest/cluster/pending/devices").Get(id)
		for _, name := range []string{"time", "name", "address"} {
			if entry.Get(name).Str() == "" {
				p.Errorf("a pending device has no %s: %s", name, entry.JSON())
			}
		}
		p.MustDo("PUT", path("devices", id), `{"deviceID":"`+id+`"}`)
		all := more("it is accepted", func(e []Event) bool { return at(e[len(e)-1].Data, "removed").Len() > 0 })
		p.Is(all[len(all)-1].Data, "removed.0.deviceID", `"`+id+`"`)
		p.Is(p.Get("/rest/cluster/pending/devices"), "", "{}")
	}},
}
