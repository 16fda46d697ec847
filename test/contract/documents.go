package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
)

// A device that no daemon is: from Syncthing's own tests.
const (
	stranger      = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	strangerPlain = "p56ioi7mzjnu2yiqgdreydm2mgtimgl3bxnpq6w5bmtbbz4tjxzwicq2"
	another       = "AIR6LPZ-7K4PTTV-UXQSMUU-CPQ5YWH-OEDFIIQ-JUG777G-2YQXXR5-YD6AWQR"
)

var documents = []Check{
	{"PUT answers 200 with nothing", Writes, func(p *Probe) {
		answer := p.Do("PUT", "/rest/config", string(p.Get("/rest/config").JSON()))
		if answer.Status != http.StatusOK || answer.Text != "" {
			p.Errorf("got %d %q", answer.Status, answer.Text)
		}
	}},
	{"PUT of what cannot be read changes nothing", Writes, func(p *Probe) {
		before := p.Get("/rest/config")
		for _, body := range []string{
			`{"version":`, ``, `[]`, `"x"`, `{"options":{"maxSendKbps":"5"}}`, `{"options":{"maxSendKbps":5.5}}`,
			`{"options":{"maxSendKbps":5.0}}`, `{"options":{"natEnabled":"true"}}`, `{"folders":{}}`, `{"gui":[]}`,
			`{"folders":[{"id":"a","path":"x"},{"id":"a","path":"y"}]}`, `{"folders":[{"id":"","path":"x"}]}`,
			`{"folders":[{"path":"x"}]}`,
			`{"folders":[{"id":"a","path":""}]}`, `{"devices":[{"deviceID":"nonsense"}]}`,
			`{"devices":[{"deviceID":"` + strings.Replace(stranger, "P56", "P57", 1) + `"}]}`,
		} {
			p.Refused("PUT", "/rest/config", body, http.StatusBadRequest, "")
		}
		for _, address := range []string{"127.0.0.1:99999", "nonsense", "127.0.0.1:nonsense"} {
			with := before.With("gui", before.Get("gui").With("address", stconfig.Text(address)))
			p.Refused("PUT", "/rest/config", string(with.JSON()), http.StatusInternalServerError, "")
		}
		if after := p.Get("/rest/config"); !after.Equal(before) {
			p.Errorf("the configuration changed:\n%s\n%s", before.JSON(), after.JSON())
		}
	}},
	{"what is absent becomes a default", Opens, func(p *Probe) {
		p.Config(
			`{"options":{"maxSendKbps":7},"defaults":{"folder":{"path":"/x","rescanIntervalS":9}},"folders":[{"id":"f","path":"` + p.Folder(
				"f",
			) + `"}],"devices":[{"deviceID":"` + stranger + `"}]}`,
		)
		now := p.Get("/rest/config")
		p.MustDo("PUT", "/rest/config",
			string(stconfig.Obj().With("version", now.Get("version")).With("gui", now.Get("gui")).JSON()))
		c := p.Get("/rest/config")
		p.Is(c, "options.maxSendKbps", "0")
		p.Is(c, "options.globalAnnounceEnabled", "true")
		p.Is(c, "options.relaysEnabled", "true")
		p.Is(c, "options.natEnabled", "true")
		p.Is(c, "options.crashReportingEnabled", "true")
		p.Is(c, "options.listenAddresses", `["default"]`)
		p.Is(c, "defaults.folder.rescanIntervalS", "3600")
		p.Is(c, "defaults.folder.path", byVersion(p, `"~"`, `""`))
		p.Is(c, "folders", "[]")
		if got := texts(c.Get("devices"), "deviceID"); !slices.Equal(got, []string{string(p.ID())}) {
			p.Errorf("devices are %v, want the own one", got)
		}
	}},
	{"the own device is added, named after the machine", Writes, func(p *Probe) {
		p.MustDo("PATCH", path("devices", string(p.ID())), `{"name":"mine"}`)
		host := p.Config(`{"devices":[]}`).Get("devices").At(0)
		if host.Get("name").Str() == "mine" || host.Get("name").Str() == "" {
			p.Errorf("got name %q", host.Get("name").Str())
		}
		c := p.Config(`{"devices":[{"deviceID":"` + stranger + `"}]}`)
		if got := texts(c.Get("devices"), "deviceID"); len(got) != 2 || !slices.Contains(got, string(p.ID())) {
			p.Errorf("devices are %v", got)
		}
	}},
	{"folders and devices are sorted, doubles merged, IDs made canonical", Writes, func(p *Probe) {
		c := p.Config(fmt.Sprintf(`{"devices":[{"deviceID":%q,"name":"one"},{"deviceID":%q},{"deviceID":%q,"name":"two"}],
			"folders":[{"id":"b","path":%q,"devices":[{"deviceID":%q},{"deviceID":%q},{"deviceID":%q}]},{"id":"B","path":%q},{"id":"a","path":%q}]}`,
			strangerPlain, another, stranger, p.Folder("b"), stranger, another, stranger, p.Folder("B"), p.Folder("a")))
		if got := texts(c.Get("folders"), "id"); !slices.Equal(got, []string{"B", "a", "b"}) {
			p.Errorf("folders are %v", got)
		}
		ids := texts(c.Get("devices"), "deviceID")
		if len(ids) != 3 || !slices.Contains(ids, stranger) || !slices.Contains(ids, another) {
			p.Fatalf("devices are %v", ids)
		}
		if got := texts(at(c, "folders.2.devices"), "deviceID"); !slices.Equal(got, ids) {
			p.Errorf("the folder's devices are %v, want the order of the devices %v", got, ids)
		}
		i := slices.Index(ids, stranger)
		p.Is(c, fmt.Sprintf("devices.%d.name", i), `"one"`)
		p.Is(c, fmt.Sprintf("devices.%d.addresses", i), `["dynamic"]`)
		p.Is(c, fmt.Sprintf("devices.%d.compression", i), `"metadata"`)
	}},
	{"a hash that begins with a digit in base32 sorts after the letters", Writes, func(p *Probe) {
		const digit, letter = "2222222-222222M-2222222-222222M-2222222-222222M-2222222-22222AG",
			"BBBBBBB-BBBBBBN-BBBBBBB-BBBBBBN-BBBBBBB-BBBBBBN-BBBBBBB-BBBBBAO"
		c := p.Config(fmt.Sprintf(`{"devices":[{"deviceID":%q},{"deviceID":%q}]}`, digit, letter))
		got := slices.DeleteFunc(texts(c.Get("devices"), "deviceID"), func(id string) bool { return id == string(p.ID()) })
		if !slices.Equal(got, []string{letter, digit}) {
			p.Errorf("got %v", got)
		}
	}},
	{"a folder keeps only devices that are known", Writes, func(p *Probe) {
		c := p.Config(fmt.Sprintf(`{"folders":[{"id":"f","path":%q,"devices":[{"deviceID":%q}]}]}`, p.Folder("f"), stranger))
		if got := texts(at(c, "folders.0.devices"), "deviceID"); !slices.Equal(got, []string{string(p.ID())}) {
			p.Errorf("the folder's devices are %v, want the own one", got)
		}
	}},
	{"a folder without a path", Spoils, func(p *Probe) {
		before := p.Get("/rest/config")
		with := before.With("folders", stconfig.List(stconfig.Obj(stconfig.Member{Name: "id", Value: stconfig.Text("f")})))
		answer := p.Do("PUT", "/rest/config", string(with.Without("defaults").JSON()))
		if p.V1() {
			if p.Is(p.Get("/rest/config"), "folders.0.path", `"~"`); answer.Status != http.StatusOK {
				p.Errorf("got %d %q, want 200 and the home directory shared", answer.Status, answer.Text)
			}
		} else if answer.Status != http.StatusBadRequest || !strings.Contains(answer.Text, "folder has empty path") {
			p.Errorf("got %d %q", answer.Status, answer.Text)
		}
	}},
	{"keys are matched without regard to case, unknown ones dropped", Writes, func(p *Probe) {
		c := p.Config(
			`{"options":{"MAXSENDKBPS":3,"maxSendKbps":4,"maxrecvkbps":6,"MaxRecvKbps":5,"unknown":1},"OPTIONS":{"trafficClass":2},"nothing":{}}`,
		)
		p.Is(c, "options.maxSendKbps", "4")
		p.Is(c, "options.maxRecvKbps", "5")
		p.Is(c, "options.trafficClass", "2")
		if c.Get("nothing").Exists() || at(c, "options.unknown").Exists() {
			p.Errorf("an unknown key was kept")
		}
	}},
	{"lists keep their order, or get their default", Writes, func(p *Probe) {
		c := p.Config(
			`{"options":{"listenAddresses":["tcp://127.0.0.1:0"," tcp://127.0.0.1:0"],"globalAnnounceServers":null,"alwaysLocalNets":["10.2.0.0/16","10.1.0.0/16"],"unackedNotificationIDs":["z","a"],"stunServers":[]},
			"devices":[{"deviceID":"` + stranger + `","addresses":["tcp://b.invalid:1","tcp://a.invalid:1"],"allowedNetworks":["10.2.0.0/16","10.1.0.0/16"]}]}`,
		)
		p.Is(c, "options.listenAddresses", `["tcp://127.0.0.1:0"]`)
		p.Is(c, "options.globalAnnounceServers", `["default"]`)
		p.Is(c, "options.alwaysLocalNets", `["10.2.0.0/16","10.1.0.0/16"]`)
		p.Is(c, "options.unackedNotificationIDs", `["z","a"]`)
		p.Is(c, "options.stunServers", `[]`)
		i := slices.Index(texts(c.Get("devices"), "deviceID"), stranger)
		p.Is(c, fmt.Sprintf("devices.%d.addresses", i), `["tcp://b.invalid:1","tcp://a.invalid:1"]`)
		p.Is(c, fmt.Sprintf("devices.%d.allowedNetworks", i), `["10.2.0.0/16","10.1.0.0/16"]`)
		p.Is(p.Config(`{"options":{"listenAddresses":[]}}`), "options.listenAddresses", "[]")
	}},
	{"partial objects are merged with defaults", Writes, func(p *Probe) {
		c := p.Config(
			fmt.Sprintf(
				`{"options":{"minHomeDiskFree":{"value":5}},"folders":[{"id":"f","path":%q,"versioning":{"type":"simple"},"minDiskFree":{"value":2.5}}]}`,
				p.Folder("f"),
			),
		)
		p.Is(c, "options.minHomeDiskFree", `{"value":5,"unit":"%"}`)
		p.Is(c, "folders.0.minDiskFree", `{"value":2.5,"unit":"%"}`)
		p.Is(c, "folders.0.versioning.cleanupIntervalS", "3600")
		p.Is(c, "folders.0.versioning.params", "{}")
	}},
	{"values out of range are brought into it", Writes, func(p *Probe) {
		c := p.Config(
			fmt.Sprintf(
				`{"options":{"reconnectionIntervalS":1,"connectionLimitMax":-5},"folders":[{"id":"f","path":%q,"rescanIntervalS":-3,"fsWatcherDelayS":0,"maxConcurrentWrites":1000,"type":"nonsense","order":"x","markerName":""}]}`,
				p.Folder("f"),
			),
		)
		p.Is(c, "options.reconnectionIntervalS", "5")
		p.Is(c, "options.connectionLimitMax", "0")
		p.Is(c, "folders.0.rescanIntervalS", "0")
		p.Is(c, "folders.0.fsWatcherDelayS", "10")
		p.Is(c, "folders.0.fsWatcherEnabled", "false")
		p.Is(c, "folders.0.maxConcurrentWrites", byVersion(p, "64", "256"))
		p.Is(c, "folders.0.type", `"sendreceive"`)
		p.Is(c, "folders.0.order", `"random"`)
		p.Is(c, "folders.0.markerName", `".stfolder"`)
	}},
	{"a document without a version is migrated", Writes, func(p *Probe) {
		before := p.Get("/rest/config")
		options := before.Get("options").With("natLeaseMinutes", stconfig.Literal("60")).With("urSeen",
			stconfig.Literal("0"))
		p.MustDo("PUT", "/rest/config", string(before.With("options", options).Without("version").JSON()))
		c := p.Get("/rest/config")
		p.Is(c, "version", byVersion(p, "36", "52"))
		p.Is(c, "options.natLeaseMinutes", "0")
		p.Is(c, "options.natRenewalMinutes", "0")
		p.Is(c, "options.natTimeoutSeconds", "0")
		p.Is(c, "options.minHomeDiskFree.value", "0")
		p.Is(c, "options.urSeen", "2")
		if got := texts(at(c, "options.unackedNotificationIDs"), ""); !slices.Contains(got, "fsWatcherNotification") {
			p.Errorf("unackedNotificationIDs are %v", got)
		}
		if p.V1() {
			p.Is(c, "defaults.folder.path", `""`)
		}
	}},
	{"a version from the future is taken, and the daemon does not start again", Spoils, func(p *Probe) {
		p.MustDo("PUT", "/rest/config", string(p.Get("/rest/config").With("version", stconfig.Literal("999")).JSON()))
		p.Is(p.Get("/rest/config"), "version", "999")
		p.MustDo("POST", "/rest/system/restart", "")
		p.Gone()
	}},
	{"many writers, the last one wins", Writes, func(p *Probe) {
		read := p.Get("/rest/config")
		p.MustDo("PATCH", "/rest/config/options", `{"maxSendKbps":11}`)
		other := read.With("options", read.Get("options").With("maxRecvKbps", stconfig.Literal("12")))
		p.MustDo("PUT", "/rest/config", string(other.JSON()))
		p.Is(p.Get("/rest/config"), "options.maxSendKbps", "0")
	}},
}
