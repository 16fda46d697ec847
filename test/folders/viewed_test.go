package folders_test

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/wait"
)

const (
	oldest = 3 * time.Second // figures while somebody looks
	inARow = 3               // figures, of which all that is shown has to be so young
)

// told is what a daemon said itself was missing, and when.
type told struct {
	at        time.Time
	needBytes int64
}

// limited is a folder that comes from one real daemon to the other at a limited rate.
type limited struct {
	*world
	own []told // what b said, the newest last
}

// ask has b say what is missing, not by way of Muster.
func (l *limited) ask(t *testing.T) {
	t.Helper()
	now := time.Now()
	var status struct {
		NeedBytes int64 `json:"needBytes"`
	}
	if code, body := l.b.Do("GET", "/rest/db/status?folder="+common, nil); code == 200 &&
		json.Unmarshal(body, &status) == nil {
		l.own = append(l.own, told{now, status.NeedBytes})
	}
}

// before is what b had said a while before.
func (l *limited) before(at time.Time) (need int64, known bool) {
	for _, one := range l.own {
		if !one.at.After(at) {
			need, known = one.needBytes, true
		}
	}
	return need, known
}

// withoutSummaries is a daemon whose summaries never come: what Muster shows of its folders it has asked for.
func withoutSummaries(t *testing.T, d *daemon.Daemon) (host string, port int) {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: d.HostPort()})
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if answer.Request.URL.Path != "/rest/events" {
			return nil
		}
		body, err := io.ReadAll(answer.Body)
		body = bytes.ReplaceAll(body, []byte(`"FolderSummary"`), []byte(`"RemoteIndexUpdated"`))
		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return err
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(d.Home, "https-cert.pem"), filepath.Join(d.Home, "https-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(proxy)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	at := server.Listener.Addr().(*net.TCPAddr) //nolint:errcheck // it listens on TCP
	return at.IP.String(), at.Port
}

// The summaries of a daemon whose rate is limited came up to ten seconds after what it said when it was asked. While
// somebody looks, Muster shows figures that are at most three seconds old, also where no summary comes. A busy machine
// may be late for a while: what is waited for is a row of figures that were all young while they were shown.
func TestFiguresOfALimitedFolderAreYoungWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path, _ := w.share(t, common)
	w.a.Patch("/rest/config/options", `{"maxSendKbps": 400, "limitBandwidthInLan": true}`)
	host, port := withoutSummaries(t, w.b)
	w.Register(w.b.ID, w.b.APIKey, host, port, "b")
	content := make([]byte, 64<<20)
	_, _ = rand.Read(content)
	if err := os.WriteFile(filepath.Join(path, "large"), content, 0o644); err != nil { //nolint:gosec // see write
		t.Fatal(err)
	}
	w.a.Own(filepath.Join(path, "large"))
	rescan(w.a, common)
	w.waitFolder(t, w.b, common, fleet.FolderSyncing)
	l, young, last := &limited{world: w}, 0, time.Time{}
	wait.Until(t, func() string {
		l.ask(t)
		now := time.Now()
		shown, err := w.standing(t, w.b, common)
		if err != nil || shown.State != fleet.FolderSyncing.String() || shown.AsOf == nil {
			young = 0
			return fmt.Sprintf("the folder is %+v, %v", shown, err)
		}
		earlier, known := l.before(now.Add(-oldest))
		if age := now.Sub(shown.AsOf.Time); !known || age > oldest || shown.NeedBytes > earlier {
			young = 0
			return fmt.Sprintf("shown are %d bytes of %v ago, and the daemon said %d three seconds ago", shown.NeedBytes, age,
				earlier)
		}
		if !shown.AsOf.Equal(last) {
			last = shown.AsOf.Time
			young++
		}
		if young < inARow {
			return fmt.Sprintf("%d figures in a row are young", young)
		}
		return ""
	})
}
