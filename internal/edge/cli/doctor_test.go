package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

const patientID = "JTXFBT6-U3AD4VU-KXENQYB-BDOJCAZ-DU7PDPB-PQ5BITI-UIEFKDD-ETC7TQG"

// patient is what a server answers to the doctor.
type patient struct {
	overview api.Overview
	ahead    time.Duration // of its clock
	state    api.DeviceState
	trust    api.DeviceTrust
}

// healthy is a server and a device with which nothing is wrong.
func healthy() patient {
	return patient{
		overview: api.Overview{Connections: map[string]int{"online": 1},
			Certificate: &api.OverviewOfCertificate{Days: 300},
			Backup:      &api.OverviewOfBackup{LastAt: &api.Time{Time: time.Now()}}},
		state: api.DeviceState{Connection: string(fleet.Online), Configuration: string(fleet.ConfigInSync)},
	}
}

func (p patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", time.Now().Add(p.ahead).UTC().Format(http.TimeFormat))
	var answer any
	switch r.URL.Path {
	case "/healthz":
		w.WriteHeader(http.StatusNoContent)
		return
	case "/api/v1/overview":
		answer = p.overview
	case "/api/v1/devices/" + patientID:
		answer = api.Device{DeviceID: patientID, Label: "laptop"}
	case "/api/v1/devices/" + patientID + "/state":
		answer = p.state
	case "/api/v1/devices/" + patientID + "/trust":
		answer = p.trust
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// Each thing that may be wrong is found, with what to do, and nothing else is called wrong.
func TestTheDoctorFindsEachThingThatIsWrong(t *testing.T) {
	soon := api.Time{Time: time.Now().Add(24 * time.Hour)}
	for _, c := range []struct {
		name   string
		breaks func(*patient)
		part   string // "": none
		what   string
	}{
		{"nothing", func(*patient) {}, "", ""},
		{"the clock is late", func(p *patient) { p.ahead = -5 * time.Minute }, "clock", "apart from this machine's"},
		{"the clock is early", func(p *patient) { p.ahead = 5 * time.Minute }, "clock", "apart from this machine's"},
		{"the database is away", func(p *patient) {
			p.overview.Impairments = []api.Impairment{{Part: string(fleet.PartDatabase), Reason: "the disk is full",
				Next: "Make room."}}
		}, "database", "the disk is full"},
		{"a device is not found", func(p *patient) { p.overview.Connections["notFound"] = 2 }, "discovery",
			"2 devices not found"},
		{"an address is anybody's word", func(p *patient) { p.overview.Connections["unconfirmed"] = 1 }, "discovery",
			"1 device not found, or not confirmed"},
		{"the certificate ends", func(p *patient) { p.overview.Certificate.Days = 29 }, "certificate", "29 more days"},
		{"the certificate is stale", func(p *patient) { p.overview.Certificate.Stale = true }, "certificate", "lasts"},
		{"no backups", func(p *patient) { p.overview.Backup = nil }, "backup", "makes no backups"},
		{"a backup failed", func(p *patient) { p.overview.Backup.Trouble = "no such folder" }, "backup", "no such folder"},
		{"the newest backup is old", func(p *patient) {
			p.overview.Backup.LastAt = &api.Time{Time: time.Now().Add(-oldBackup - time.Hour)}
		}, "backup", "the newest is of"},
		{"a restore", func(p *patient) { p.overview.Restored = &api.OverviewOfRestore{} }, "restore", "nothing is written"},
		{"a receiver", func(p *patient) {
			p.overview.Receivers = []api.Receiver{{Name: "mail", Trouble: "refused"}}
		}, "notify", "mail is not told"},
		{"the device is away", func(p *patient) {
			p.state = api.DeviceState{Connection: string(fleet.Unreachable), Configuration: string(fleet.ConfigInSync),
				Reason: "connection refused", Next: "Start the daemon."}
		}, "device", "connection refused"},
		{"the certificate of the device ends", func(p *patient) { p.trust.Pinned.NotAfter = &soon }, "device",
			"its certificate lasts until"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := healthy()
			c.breaks(&p)
			server := httptest.NewServer(p)
			defer server.Close()
			code, out, errs := run(t, "doctor", patientID, "--server", server.URL, "--token", "muster_x", "-o", "json")
			var found []finding
			if err := json.Unmarshal([]byte(out), &found); err != nil {
				t.Fatalf("%v in %s%s", err, out, errs)
			}
			var sick []finding
			for _, f := range found {
				if !f.OK && f.Part != "permissions" && f.Part != "disk" && f.Part != "home" { // of this machine
					sick = append(sick, f)
				}
			}
			switch {
			case c.part == "" && len(sick) == 0:
			case c.part == "" || len(sick) != 1 || sick[0].Part != c.part || !strings.Contains(sick[0].What, c.what) ||
				sick[0].Next == "" || code != exitFailed:
				t.Errorf("ended with %d and found %+v, want %s: %s", code, sick, c.part, c.what)
			}
		})
	}
}

func TestTheDoctorFindsAFullDisk(t *testing.T) {
	for free, ok := range map[uint64]bool{leastDisk - 1: false, leastDisk: true} {
		if f := ofFree("/var/lib/muster", free); f.OK != ok || f.OK != (f.Next == "") || f.Part != "disk" {
			t.Errorf("%d bytes: %+v", free, f)
		}
	}
	if found := ofDisk(t.TempDir()); len(found) != 1 {
		t.Errorf("a disk of this machine: %+v", found)
	}
}
