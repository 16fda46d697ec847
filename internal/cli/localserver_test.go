package cli

import (
	"encoding/pem"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/internal/listen"
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
		if got := localServer(c.home, c.asked); got != c.want {
			t.Errorf("got %s for %s, want %s", got, c.asked, c.want)
		}
	}
}
