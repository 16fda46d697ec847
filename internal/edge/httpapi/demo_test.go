package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// oneDemo is one that starts at once.
type oneDemo struct{ running *url.URL }

func (d *oneDemo) Running() *url.URL { return d.running }
func (d *oneDemo) End()              { d.running = nil }
func (d *oneDemo) Start(context.Context) (*url.URL, error) {
	d.running = &url.URL{Scheme: "http", Host: "127.0.0.1:4711", Path: "/ui/"}
	return url.Parse("http://127.0.0.1:4711/ui/login?code=a")
}

func TestADemoIsStartedFromItsOwnMachineAlone(t *testing.T) {
	for _, test := range []struct {
		host, from, header string
		status             int
		shows              string
	}{
		{"127.0.0.1:2525", "127.0.0.1:5000", "", http.StatusOK, `"first":"http://localhost:4711/ui/login?code=a"`},
		{"localhost:2525", "[::1]:5000", "", http.StatusOK, `"first":"http://127.0.0.1:4711/ui/login?code=a"`},
		{"127.0.0.1:2525", "127.0.0.1:5000", "X-Forwarded-For", http.StatusConflict, "muster serve --demo 30"},
		{"127.0.0.1:2525", "192.0.2.1:5000", "", http.StatusConflict, "muster serve --demo 30"},
	} {
		d := &oneDemo{}
		w := newWorld(t).with(func(o *setup) { o.Demo = d })
		ask := func(method string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, Prefix+"/demo", http.NoBody)
			r.Host, r.RemoteAddr = test.host, test.from
			r.Header.Set("Authorization", "Bearer "+w.tokens[fleet.RoleAdmin])
			if test.header != "" {
				r.Header.Set(test.header, "192.0.2.9")
			}
			rec := httptest.NewRecorder()
			w.api.ServeHTTP(rec, r)
			return rec
		}
		if got := ask(http.MethodPost); got.Code != test.status || !strings.Contains(got.Body.String(), test.shows) {
			t.Errorf("%+v: %d %s", test, got.Code, got.Body)
		}
		isLocal := test.status == http.StatusOK
		if got := ask(http.MethodGet).Body.String(); strings.Contains(got, `"unreachable":""`) != isLocal ||
			strings.Contains(got, "code=") || strings.Contains(got, ":4711/ui/") != isLocal {
			t.Errorf("%+v: %s", test, got)
		}
		if got := ask(http.MethodDelete); got.Code != http.StatusNoContent || d.running != nil {
			t.Errorf("%+v: %d, runs at %v", test, got.Code, d.running)
		}
	}
}
