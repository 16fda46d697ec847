package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
)

const (
	firstAsking  = "MZJU2GB-VHZXVXF-6OWRI3X-KYSAOIQ-5PVYMDQ-X4H6UMB-4BTKYQC-RLTFLQD"
	secondAsking = "MRIW7OK-NETT3M4-N6SBWME-N25O76W-YJKVXPH-FUMQJ3S-P57B74J-GBITBAC"
)

// askingServer has two devices that ask, and keeps what is decided.
func askingServer(t *testing.T, turnedAway int64) (url string, decided *[]string) {
	t.Helper()
	decided = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		var value any = []api.Enrollment{
			{DeviceID: firstAsking, State: "waiting", Name: "laptop\x1b[31m", System: "linux/amd64", Address: "192.0.2.7"},
			{DeviceID: secondAsking, State: "rejected", Name: "nas"},
		}
		switch {
		case path == "enrollments/counts":
			value = api.EnrollmentCounts{Waiting: 1, Most: 1024, PerAddress: 64, TurnedAway: turnedAway}
		case r.Method != http.MethodGet:
			var body json.RawMessage
			_ = json.NewDecoder(r.Body).Decode(&body)
			*decided = append(*decided, r.Method+" "+path+" "+string(body))
			value = api.Device{DeviceID: firstAsking, Label: "laptop"}
		}
		_ = json.NewEncoder(w).Encode(value)
	}))
	t.Cleanup(server.Close)
	return server.URL, decided
}

func TestEnrollmentCommandsTakeTheUniqueBeginningOfAnID(t *testing.T) {
	for _, test := range []struct{ args, says, sends string }{
		{"accept mzju2gb-vhzxvxf-6owri3x-kysaoiq --tag office,b --label home -y", "Accepted",
			"POST enrollments/" + firstAsking + `/accept {"label":"home","tags":["office","b"]}`},
		{"accept MZJU2GBVHZXVXF6OWRI3XKYSAOIQ -y", "Accepted", "POST enrollments/" + firstAsking + "/accept {}"},
		{"accept -y " + strings.ToLower(firstAsking), "Accepted", "POST enrollments/" + firstAsking + "/accept {}"},
		{"reject MZJ --yes", "accept " + firstAsking, "POST enrollments/" + firstAsking + "/reject "},
		{"forget MR -y", "Forgotten", "DELETE enrollments/" + secondAsking + " "},
	} {
		url, decided := askingServer(t, 0)
		args := append([]string{"enrollment"}, strings.Fields(test.args)...)
		code, out, errs := run(t, append(args, "--token", "x", "--server", url)...)
		if got := strings.Join(*decided, "\n"); code != exitDone || !strings.Contains(out, test.says) || got != test.sends {
			t.Errorf("%s: got %d, %q, %q, and sent %s", test.args, code, out, errs, got)
		}
	}
	for args, says := range map[string]string{"reject M": "2 devices", "reject X": "no device asks",
		"accept ": "give the devices to accept"} {
		url, decided := askingServer(t, 0)
		all := append([]string{"enrollment"}, strings.Fields(args)...)
		if code, _, errs := run(t, append(all, "--token", "x", "--server", url)...); code == exitDone ||
			!strings.Contains(errs, says) || len(*decided) > 0 {
			t.Errorf("%s: got %d, %q, %q", args, code, errs, *decided)
		}
	}
}

// A key whose ID begins with seven given letters can be computed, and was accepted in place of another device's.
func TestADeviceIsNotAcceptedByTheFirstLettersOfItsID(t *testing.T) {
	for _, begins := range []string{"M", firstAsking[:7], "mzju2gb-vhzxvxf-6owri3x", firstAsking[:30]} {
		url, decided := askingServer(t, 0)
		code, _, errs := run(t, "enrollment", "accept", begins, "--token", "x", "--server", url)
		if code == exitDone || !strings.Contains(errs, "first four groups") || len(*decided) > 0 {
			t.Errorf("%s: got %d, %q, %q", begins, code, errs, *decided)
		}
	}
}

func TestEnrollmentListSaysHowManyFoundNoPlace(t *testing.T) {
	url, _ := askingServer(t, 7)
	code, out, errs := run(t, "enrollment", "list", "--token", "x", "--server", url)
	if code != exitDone || !strings.Contains(out, firstAsking+"  waiting") || strings.Contains(out, "\x1b") ||
		!strings.Contains(errs, "1 of at most 1024") || !strings.Contains(errs, "7 times") {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
}

func TestEnrollByKeyRefusesWhatTheKeyDecides(t *testing.T) {
	home := daemonHome(t, "0.0.0.0:8384")
	for flags, says := range map[string]string{
		"--key k --tag office": "has its own tags",
		"--key k --renew":      "both given",
		"--key k":              "cannot be read", // the home has no key.pem
	} {
		args := append([]string{"enroll", "--home", home, "--server", "http://127.0.0.1:1"}, strings.Fields(flags)...)
		if code, _, errs := run(t, args...); !refuses(code) || !strings.Contains(errs, says) {
			t.Errorf("%s: got %d, %q", flags, code, errs)
		}
	}
}

// Twenty machines had to be accepted by twenty commands.
func TestAcceptTakesSeveralDevicesAndAllThatWait(t *testing.T) {
	first, second := "POST enrollments/"+firstAsking+"/accept ", "POST enrollments/"+secondAsking+"/accept "
	for args, want := range map[string]string{
		"accept -y " + firstAsking + " " + secondAsking + " --tag a": first + `{"tags":["a"]}` + "\n" + second +
			`{"tags":["a"]}`,
		"accept " + firstAsking:              "",
		"accept --all --tag a --yes":         first + `{"tags":["a"]}`,
		"accept --all --tag a":               "",
		"accept":                             "",
		"accept --all " + firstAsking:        "",
		"accept " + firstAsking + " MRIW7OK": "",
		"accept " + firstAsking + " " + secondAsking + " --label x": "",
	} {
		url, decided := askingServer(t, 0)
		code, out, errs := run(t, append(append([]string{"enrollment"}, strings.Fields(args)...), "--token", "x",
			"--server", url)...)
		if got := strings.Join(*decided, "\n"); got != want || (code == exitDone) != (want != "") {
			t.Errorf("%s: got %d, %q, %q, and sent %s", args, code, out, errs, got)
		}
	}
}
