package model_test

import (
	"os"
	"sync"
	"testing"

	"muster/client"
	"muster/test/server"
)

// muster is one server for many sequences at once. It may be killed while all of them go on.
type muster struct {
	t *testing.T

	options server.Options

	mu sync.RWMutex // held for reading over each call, for writing while the server is killed and started again
	s  *server.Server
}

func startMuster(t *testing.T, o server.Options) *muster {
	o.Home = inMemory(t)
	m := &muster{t: t, options: o, s: server.Start(t, o)}
	m.options.Home = m.s.Home
	return m
}

// kill ends the process at once, whatever it is doing for other sequences, and starts another one on the same home.
func (m *muster) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s.Kill()
	m.s = server.Start(m.t, m.options)
}

// call makes a request that no kill interrupts.
func call[T any](m *muster, request func(c *client.Client) (T, error)) (T, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return request(m.s.Client)
}

// inMemory is a folder for a server, in memory where the machine has that: a process that is killed loses nothing that
// it wrote to a file, synced or not.
func inMemory(t *testing.T) string {
	home, err := os.MkdirTemp("/dev/shm", "muster")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return home
}
