package contract

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/stsim"
	"muster/test/daemon"
)

// bodies are documents with everything that the daemon changes. GUI, OWN, DIR stand for what belongs to the daemon.
var bodies = map[string]string{
	"only a version":       `{"version":36,"gui":GUI}`,
	"no version":           `{"gui":GUI,"options":{"maxSendKbps":3}}`,
	"an old version":       `{"version":9,"gui":GUI,"options":{"listenAddresses":["tcp://127.0.0.1:0","127.0.0.1:1"],"globalAnnounceEnabled":false,"globalAnnounceServers":["udp4://announce.syncthing.net:22026","https://127.0.0.1:1/x"]},"folders":[{"id":"a","path":"DIR/a","type":"sendonly"}],"devices":[{"deviceID":"` + stranger + `","addresses":["127.0.0.1:1","dynamic"]}]}`,
	"a version in between": `{"version":21,"gui":GUI,"folders":[{"id":"a","path":"DIR/a","fsWatcherDelayS":3,"filesystemType":"fake","versioning":{"type":"external","params":{"command":"x","fsType":"basic","versionsPath":"v","cleanInterval":"4"}}}]}`,
	"options":              `{"version":36,"gui":GUI,"options":{"globalAnnounceServers":null,"listenAddresses":[],"reconnectionIntervalS":1,"connectionLimitMax":-5,"connectionLimitEnough":-1,"minHomeDiskFree":{"value":5},"MAXSENDKBPS":3,"maxSendKbps":4,"unknown":1}}`,
	"more options":         `{"version":36,"gui":GUI,"ldap":{"transport":"starttls","bindDN":null},"options":{"databaseTuning":"zzz","alwaysLocalNets":null,"listenAddresses":["tcp://127.0.0.1:0"," tcp://127.0.0.1:0","kcp://x"],"unackedNotificationIDs":[],"featureFlags":["a","a"],"minHomeDiskFree":{"value":1e3,"unit":"kB"}},"folders":null,"devices":null}`,
	"folders": `{"version":36,"gui":GUI,"folders":[{"id":"b","path":"DIR/b","devices":[{"deviceID":"` +
		stranger + `"}],"versioning":{"type":"simple","params":{"keep":"5"}},"rescanIntervalS":-3,"fsWatcherDelayS":0,"maxConcurrentWrites":100,"type":"nonsense","order":"x"},{"id":"a","path":"DIR/a","type":"receiveencrypted","markerName":"","minDiskFree":{"value":2.5}}]}`,
	"nulls":         `{"version":36,"gui":GUI,"folders":[{"id":"c","path":"DIR/c","versioning":null,"devices":null,"label":null,"minDiskFree":null}],"options":null,"defaults":null,"ldap":null,"remoteIgnoredDevices":null}`,
	"two spellings": `{"version":36,"gui":GUI,"folders":[{"id":"c","path":"DIR/c","Label":"x","label":"y"}],"Folders":[{"id":"d","path":"DIR/d"}]}`,
	"parameters":    `{"version":36,"gui":GUI,"folders":[{"id":"c","path":"DIR/c","versioning":{"type":"external","params":{"Command":"x","command":"y"},"cleanupIntervalS":-4}}]}`,
	"devices": `{"version":36,"gui":GUI,"devices":[{"deviceID":"` + strangerPlain + `","addresses":[],"ignoredFolders":[{"id":"q","time":"2020-01-01T00:00:00Z"},{"id":"q","time":"2021-01-01T00:00:00Z"},{"id":"z","time":"2019-01-01T00:00:00.5Z"},{"id":"b","time":"2022-01-01T00:00:00Z"}],"compression":"true"},{"deviceID":"` + stranger + `","name":"second"},{"deviceID":""}],
		"folders":[{"id":"b","path":"DIR/b","devices":[{"deviceID":"` + stranger + `","encryptionPassword":"s"},{"deviceID":"` + stranger + `"}]}],"remoteIgnoredDevices":[{"deviceID":"` + stranger + `"},{"deviceID":"` + another + `","time":"2021-01-01T00:00:00Z"}]}`,
	"defaults": `{"version":36,"gui":GUI,"devices":[{"deviceID":"` + stranger +
		`"}],"folders":[{"id":"f","path":"DIR/f"}],"defaults":{"device":{"name":"D","deviceID":"` + stranger +
		`","introducedBy":"` + stranger +
		`","autoAcceptFolders":true,"addresses":[""]},"folder":{"id":"zz","path":"","devices":[{"deviceID":"` + stranger +
		`","encryptionPassword":"p"}],"rescanIntervalS":99999999,"versioning":{"type":"trashcan","params":{"a":"b"}}},"ignores":{"lines":["a"]}}}`,
}

// compareNormalised compares whole documents: what the daemon makes of a body and what stsim does.
func compareNormalised(t *testing.T) {
	d := daemon.Start(t, daemon.Options{})
	p := newProbe(t, real{t, d})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	gui := string(p.Get("/rest/config/gui").JSON())
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			p := newProbe(t, real{t, d})
			body := strings.NewReplacer("GUI", gui, "DIR", p.Folder("n")).Replace(body)
			parsed, err := stconfig.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			want, err := stsim.Normalise(stsim.V1, p.ID(), host, parsed)
			if err != nil {
				t.Fatal(err)
			}
			p.MustDo("PUT", "/rest/config", `{"version":36,"gui":`+gui+`}`) // a folder's type cannot become another at will
			p.MustDo("PUT", "/rest/config", body)
			got := p.Get("/rest/config")
			if !bytes.Equal(got.JSON(), want.JSON()) {
				t.Errorf("the simulator and the daemon disagree:\n%s", differences(t, want, got))
			}
		})
	}
}

// differences are the lines that two documents do not share.
func differences(t *testing.T, simulated, real stconfig.Value) string {
	t.Helper()
	lines := func(v stconfig.Value) []string {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n")
	}
	a, b := lines(simulated), lines(real)
	var text strings.Builder
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			text.WriteString("simulated " + x + "\n     real " + y + "\n")
		}
	}
	return text.String()
}
