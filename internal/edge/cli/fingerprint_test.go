package cli

import (
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// The only way to trust a server's own certificate from another machine was to copy the file that holds its key.
func TestAServerIsKnownByItsFingerprint(t *testing.T) {
	asked := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ErrorLog = log.New(&strings.Builder{}, "", 0)
	server.StartTLS()
	defer server.Close()
	key := fleet.KeyFingerprint(server.Certificate())
	other := "sha256:" + strings.Repeat("0", 64)
	for _, c := range []struct {
		name, address, fingerprint string
		code                       int
		says                       []string
	}{
		{"public key", server.URL, key, exitDone, nil},
		{"certificate", server.URL, fleet.CertificateOf(server.Certificate()).Fingerprint, exitDone, nil},
		{"none", server.URL, "", exitUnreachable, []string{"is not trusted", "--fingerprint " + key}},
		{"another", server.URL, other, exitUnreachable, []string{key + ", not the one that was given"}},
		{"no fingerprint", server.URL, "sha256:12", exitUsage, []string{"is no fingerprint"}},
		{"plain HTTP", strings.Replace(server.URL, "https:", "http:", 1), key, exitUsage, []string{"plain HTTP"}},
	} {
		before := asked
		api, err := target{address: c.address, fingerprint: c.fingerprint, home: t.TempDir()}.client("")
		if err == nil {
			err = api.Ready(t.Context())
		}
		var out strings.Builder
		code := explain(&out, err)
		errs := out.String()
		if code != c.code {
			t.Errorf("%s: ended with %d, want %d: %s", c.name, code, c.code, errs)
		}
		for _, want := range c.says {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: says %q, want %q in it", c.name, errs, want)
			}
		}
		if reached := asked > before; reached != (c.code == exitDone) {
			t.Errorf("%s: the server was asked: %v", c.name, reached)
		}
	}
}

func TestALoginKeepsTheFingerprint(t *testing.T) {
	kept := logins{Current: "work", Servers: map[string]login{"work": {Address: "https://muster.example",
		Token: "muster_x", CA: "ca.pem", Fingerprint: "sha256:aa"}}}
	at, err := (&connection{}).target(kept)
	if err != nil || at.fingerprint != "sha256:aa" || at.ca != "ca.pem" {
		t.Errorf("got %+v, %v", at, err)
	}
	at, err = (&connection{CA: "other.pem"}).target(kept) // a certificate that is exported does not drop the fingerprint
	if err != nil || at.fingerprint != "sha256:aa" || at.ca != "ca.pem" {
		t.Errorf("with MUSTER_CA: got %+v, %v", at, err)
	}
	typed := map[string]bool{"ca": true}
	// What is typed counts alone.
	for _, c := range []connection{{CA: "other.pem", onCommandLine: typed}, {fingerprint: "sha256:bb"}} {
		at, err := c.target(kept)
		if err != nil || at.fingerprint != c.fingerprint || at.ca != c.CA {
			t.Errorf("got %+v, %v, want %+v", at, err, c)
		}
	}
}
