package agent

import (
	"io"
	"net/http"
	"testing"

	"muster/internal/adapter/tunnel"
	"muster/test/wait"
)

func TestAnAgentTellsThatItsDaemonMayHaveBeenStartedAnew(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	started(t, d, m, nil)
	conn := m.accept()
	run := func() string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://agent/rest/system/status", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := conn.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // it was read
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.Header.Get(tunnel.RunHeader)
	}
	first := run()
	if first == "" || run() != first {
		t.Errorf("the number %q changed, and the connection stayed open", first)
	}
	d.server.CloseClientConnections()
	wait.For(t, "another number", func() bool { return run() != first })
	again := run()
	if run() != again {
		t.Error("the number goes on changing")
	}
}

// One connection that stays open is enough: the daemon is the same.
func TestARunLastsAsLongAsOneConnection(t *testing.T) {
	var r runs
	r.begin()
	r.begin()
	r.end(false)
	r.begin()
	if r.current() != 1 {
		t.Errorf("got %d while one connection was open", r.current())
	}
	r.end(true)
	if r.current() != 2 {
		t.Errorf("got %d after the daemon ended one", r.current())
	}
	r.end(false)
	r.begin()
	if r.current() != 3 {
		t.Errorf("got %d after none was open", r.current())
	}
}
