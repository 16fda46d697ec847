package listen

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Who types http:// for a port with TLS is told so, and is not left with a connection that breaks off.
func TestAPortWithTLSAnswersPlainHTTPWithASentence(t *testing.T) {
	for name, agents := range map[string]func() (func(), bool){
		"with agents": func() (func(), bool) { return func() {}, true }, "without": nil,
	} {
		t.Run(name, func(t *testing.T) {
			socket, err := Listen(
				Options{Home: t.TempDir(), Address: "0.0.0.0:0", Clients: 8, Log: slog.New(slog.DiscardHandler),
					AgentPlace: agents},
			)
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} //nolint:gosec // a test
			go func() { _ = server.Serve(socket) }()
			defer server.Close()
			_, port, err := net.SplitHostPort(socket.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.Get("http://127.0.0.1:" + port + "/") //nolint:noctx // a test
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "HTTP request to an HTTPS server") {
				t.Errorf("got %d, %q, %v", answer.StatusCode, body, err)
			}
		})
	}
}
