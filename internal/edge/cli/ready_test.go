package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadyAsksTheServerWithoutAToken(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "" {
			t.Errorf("got %s, authorization %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"type":"urn:muster:problem:unavailable","detail":"the database cannot be written"}`))
	}))
	defer server.Close()
	args := []string{"ready", "--server", server.URL, "--muster-home", t.TempDir()}
	if code, out, errs := run(t, args...); code != exitDone || out != "ready\n" {
		t.Errorf("got %d %s%s", code, out, errs)
	}
	status = http.StatusServiceUnavailable
	if code, _, errs := run(t, args...); code == exitDone || !strings.Contains(errs, "database cannot be written") {
		t.Errorf("got %d %s", code, errs)
	}
}
