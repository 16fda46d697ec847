package daemon

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

const answerLimit = 40 * time.Second // the API restarts after a gui change, up to 18 s when that happens often

var client = &http.Client{
	Timeout:       20 * time.Second,
	Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsConfig()},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Get reads a path of the API ("/rest/config") and fails the test unless the answer is 200.
func (d *Daemon) Get(path string) []byte {
	d.t.Helper()
	return d.must("GET", path, nil)
}

// GetJSON reads a path into v.
func (d *Daemon) GetJSON(path string, v any) {
	d.t.Helper()
	if err := json.Unmarshal(d.Get(path), v); err != nil {
		d.t.Fatalf("GET %s: %v", path, err)
	}
}

// Put, Patch and Post send a body (JSON text as string or []byte, or a value to encode) and fail the test unless the
// answer is 200.
func (d *Daemon) Put(path string, body any) []byte { d.t.Helper(); return d.must("PUT", path, body) }
func (d *Daemon) Patch(path string, body any) []byte {
	d.t.Helper()
	return d.must("PATCH", path, body)
}
func (d *Daemon) Post(path string, body any) []byte { d.t.Helper(); return d.must("POST", path, body) }

// Delete fails the test unless the answer is 200.
func (d *Daemon) Delete(path string) { d.t.Helper(); d.must("DELETE", path, nil) }

func (d *Daemon) must(method, path string, body any) []byte {
	d.t.Helper()
	status, answer := d.Do(method, path, body)
	if status != http.StatusOK {
		d.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// Do sends one request with the daemon's key and gives status and body, whatever they are. While nothing listens (the
// API restarts after a change of gui) it tries again.
func (d *Daemon) Do(method, path string, body any) (int, []byte) {
	d.t.Helper()
	sent := d.encode(body)
	deadline := time.NewTimer(answerLimit)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		status, answer, err := d.request(method, path, sent)
		if err == nil {
			return status, answer
		}
		select {
		case <-deadline.C:
			d.t.Fatalf("%s %s: %v", method, path, err)
		case <-tick.C:
		}
	}
}

func (d *Daemon) request(method, path string, body []byte) (int, []byte, error) {
	scheme := "http://"
	if d.TLS {
		scheme = "https://"
	}
	request, err := http.NewRequest(method, scheme+d.HostPort()+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("X-API-Key", d.APIKey)
	ask := client
	if d.options.Namespace != nil {
		ask = d.options.Namespace.client()
	}
	response, err := ask.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

func (d *Daemon) encode(body any) []byte {
	d.t.Helper()
	switch b := body.(type) {
	case nil:
		return nil
	case []byte:
		return b
	case string:
		return []byte(b)
	}
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	return text
}

// AddPeer makes the two daemons know each other, by their addresses on loopback.
func (d *Daemon) AddPeer(other *Daemon) {
	d.t.Helper()
	for _, pair := range [][2]*Daemon{{d, other}, {other, d}} {
		pair[0].Put("/rest/config/devices", []any{map[string]any{
			"deviceID": pair[1].ID, "name": pair[1].ID.Short(), "addresses": []string{pair[1].SyncAddress()},
		}})
	}
}

// AddFolder adds a folder, shared with the others, and returns its path below the daemon's home. It is added on this
// daemon only.
func (d *Daemon) AddFolder(id string, with ...*Daemon) string {
	d.t.Helper()
	path := filepath.Join(d.Home, "folders", url.PathEscape(id))
	if err := os.MkdirAll(path, 0o700); err != nil {
		d.t.Fatal(err)
	}
	d.Own(filepath.Dir(path))
	members := []any{map[string]any{"deviceID": d.ID}}
	for _, other := range with {
		members = append(members, map[string]any{"deviceID": other.ID})
	}
	d.Put("/rest/config/folders", []any{map[string]any{
		"id": id, "label": id, "path": path, "devices": members, "fsWatcherDelayS": 1,
	}})
	return path
}
