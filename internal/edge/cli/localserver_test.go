package cli

import (
	"encoding/pem"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/internal/adapter/listen"
	"muster/internal/edge/auth"
)

// The README's `muster enrollment list`, on the machine of a server that listens for others, found plain HTTP only.
func TestTheServerOfThisMachineIsFoundWithTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(&strings.Builder{}, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	with, without := t.TempDir(), t.TempDir()
	write(t, with, listen.CertificateFile,
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	asked := strings.Replace(secure.URL, "https:", "http:", 1)
	for _, c := range []struct{ home, asked, want string }{
		{with, asked, secure.URL},
		{without, asked, asked}, // it may be another program's
		{with, plain.URL, plain.URL},
		{with, "http://127.0.0.1:1", "http://127.0.0.1:1"},
	} {
		if _, got := localServer([]string{c.home}, c.asked); got != c.want {
			t.Errorf("got %s for %s, want %s", got, c.asked, c.want)
		}
	}

	// Root's own home and that of the package: what is left of a trial does not hide the server that runs.
	write(t, without, auth.AdminTokenFile, "muster_left")
	write(t, with, auth.AdminTokenFile, "muster_package")
	for _, c := range []struct {
		homes       []string
		asked, home string
	}{
		{[]string{without, with}, asked, with},
		{[]string{without, with}, plain.URL, without},
		{[]string{t.TempDir(), with}, plain.URL, with},
	} {
		if got, _ := localServer(c.homes, c.asked); got != c.home {
			t.Errorf("got %s for %s, want %s", got, c.asked, c.home)
		}
	}
}
