package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// wholeList is every request that an agent lets through: version, switch, method, path and query.
const wholeList = `
1   GET rest/noauth/health
1   GET rest/system/status
1   GET rest/system/version
1   GET rest/system/paths
1   GET rest/system/upgrade
1   GET rest/system/discovery
1   GET rest/system/connections
1   GET rest/system/config
1   GET rest/config
1   GET rest/config/restart-required
1   GET rest/db/status?folder
1   GET rest/db/ignores?folder
1   GET rest/events?events&since&limit&timeout
1   GET rest/cluster/pending/devices
1   GET rest/cluster/pending/folders
2   GET metrics
2   GET rest/db/completion?folder&device
2   GET rest/db/file?folder&file
2   GET rest/db/need?folder&page&perpage
2   GET rest/db/remoteneed?folder&device&page&perpage
2   GET rest/db/localchanged?folder&page&perpage
2   GET rest/folder/errors?folder&page&perpage
2   GET rest/folder/versions?folder
2   GET rest/events/disk?since&limit&timeout
2   GET rest/stats/device
2   GET rest/stats/folder
2   GET rest/system/error
2   GET rest/system/log?since
1   PUT rest/config
1   PUT rest/config/options
1   PATCH rest/config/options
1   PUT rest/config/ldap
1   PATCH rest/config/ldap
1   PUT rest/config/gui
1   PATCH rest/config/gui
1   PUT rest/config/devices
1   PUT rest/config/devices/*
1   PATCH rest/config/devices/*
1   DELETE rest/config/devices/*
1   PUT rest/config/folders
1   PUT rest/config/folders/*
1   PATCH rest/config/folders/*
1   DELETE rest/config/folders/*
1   PUT rest/config/defaults/device
1   PATCH rest/config/defaults/device
1   PUT rest/config/defaults/folder
1   PATCH rest/config/defaults/folder
1   PUT rest/config/defaults/ignores
1   POST rest/db/ignores?folder
1   DELETE rest/cluster/pending/devices?device
1   DELETE rest/cluster/pending/folders?folder&device
1   POST rest/system/restart
1   POST rest/system/pause
1   POST rest/system/resume
1   POST rest/system/upgrade
1   POST rest/db/scan?folder
2 override POST rest/db/override?folder
2 revert POST rest/db/revert?folder
2 versions POST rest/folder/versions?folder
`

func TestTheWholeList(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range List() {
		got = append(got, fmt.Sprint(max(r.Since, 1)))
		if r.Switch != "" {
			got = append(got, r.Switch)
		}
		query := ""
		if len(r.Query) > 0 {
			query = "?" + strings.Join(r.Query, "&")
		}
		got = append(got, r.Method, r.Path+query)
	}
	if want := strings.Fields(wholeList); !slices.Equal(got, want) {
		t.Errorf("the list is %q", got)
	}
}

// agentWith is an agent that introduces itself with this hello.
func (m *manager) agentWith(hello Hello, rest http.HandlerFunc) fleet.DeviceID {
	m.t.Helper()
	certificate := certificateOf(m.t)
	conn := m.dial(certificate)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+HelloPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(hello)
	})
	mux.HandleFunc("PUT "+StatusPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/", rest)
	go serveHTTP2(conn, mux, make(chan struct{}))
	return idOf(certificate)
}

func request(t testing.TB, tunnel *Tunnel, method, path string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "https://agent"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := tunnel.RoundTrip(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	return nil
}

func TestAnAgentIsNeverAskedForWhatItRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hello     Hello
		tooOldFor string
		read      fleet.Code // of a request that is new in version 2
		revert    fleet.Code
		override  fleet.Code
	}{
		"of the first list": {Hello{}, addedIn[2], fleet.CodeNotFound, fleet.CodeRejected, fleet.CodeRejected},
		"of the first list, with switches": {Hello{Allow: []string{SwitchRevert}}, addedIn[2], fleet.CodeNotFound,
			fleet.CodeRejected, fleet.CodeRejected},
		"of this list": {Hello{List: ListVersion}, "", "", fleet.CodeRejected, fleet.CodeRejected},
		"of this list, with a switch": {Hello{List: ListVersion, Allow: []string{SwitchRevert, "shutdown"}}, "", "", "",
			fleet.CodeRejected},
		"of a later list": {Hello{List: 1 << 40, Allow: Switches}, "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 10)
			m := startManager(t, accept)
			id := m.agentWith(test.hello, func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Method + " " + r.RequestURI
				_, _ = io.WriteString(w, "{}")
			})
			tunnel := m.untilAccepted(id)
			if got := tunnel.TooOldFor(); got != test.tooOldFor {
				t.Errorf("it is too old for %q, want %q", got, test.tooOldFor)
			}
			want := []string{"GET /rest/db/status?folder=a%2Fb", "PATCH /rest/config/folders/a%20b"}
			for _, path := range want {
				method, target, _ := strings.Cut(path, " ")
				if err := request(t, tunnel, method, target); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			for path, code := range map[string]fleet.Code{"GET /rest/db/file?folder=a&file=b": test.read,
				"POST /rest/db/revert?folder=a": test.revert, "POST /rest/db/override?folder=a": test.override} {
				method, target, _ := strings.Cut(path, " ")
				if err := request(t, tunnel, method, target); fleet.CodeOf(err) != code {
					t.Errorf("%s: got %v, want %q", path, err, code)
				} else if code == fleet.CodeNotFound && !errors.Is(err, fleet.ErrOldAgent) {
					t.Errorf("%s: got %v, which does not tell an old agent from a daemon without the path", path, err)
				}
				if code == "" {
					want = append(want, path)
				}
			}
			close(asked)
			var got []string
			for path := range asked {
				got = append(got, path)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("the agent was asked %q, want %q", got, want)
			}
		})
	}
}

func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		"/rest/db/need?folder=x&page=3&perpage=1000": true, "/rest/db/need?folder=x&perpage=1": true,
		"/rest/db/need?folder=x": false, "/rest/db/need?folder=x&perpage=1001": false,
		"/rest/db/need?folder=x&perpage=":  false,
		"/rest/db/need?folder=x&perpage=0": false, "/rest/db/need?folder=x&perpage=-1": false,
		"/rest/db/need?folder=x&perpage=10&perpage=10": false, "/metrics": true, "/metrics?x=1": false, "metrics": false,
		"": false, "*": false, "/": false,
	} {
		if _, err := Admit(http.MethodGet, target); (err == nil) != want {
			t.Errorf("%s: %v", target, err)
		}
	}
}
