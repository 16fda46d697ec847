package contract

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"muster/internal/fleet"
)

var reaching = []Check{
	{"a key opens the API", Reads, func(p *Probe) {
		for name, header := range map[string]map[string]string{
			"X-API-Key": {"X-API-Key": p.Key()},
			"Bearer":    {"Authorization": "Bearer " + p.Key()},
			"bearer":    {"Authorization": "bearer " + p.Key()},
		} {
			answer, err := p.Send(Request{Method: "GET", Path: "/rest/system/ping", Header: header})
			if err != nil {
				p.Fatal(err)
			}
			want := http.StatusOK
			if name != "X-API-Key" {
				want = byVersion(p, http.StatusForbidden, http.StatusOK)
			}
			if answer.Status != want {
				p.Errorf("%s: got %d, want %d", name, answer.Status, want)
			}
		}
	}},
	{"without a right key there is a CSRF error, and the daemon's ID", Reads, func(p *Probe) {
		for _, key := range []string{"", "wrong"} {
			answer, err := p.Send(Request{Method: "GET", Path: "/rest/system/status",
				Header: map[string]string{"X-API-Key": key}})
			if err != nil {
				p.Fatal(err)
			}
			if answer.Status != http.StatusForbidden || answer.Text != "CSRF Error\n" {
				p.Errorf("key %q: got %d %q", key, answer.Status, answer.Text)
			}
			if got := answer.Header.Get("X-Syncthing-Id"); got != string(p.ID()) {
				p.Errorf("key %q: X-Syncthing-Id is %q", key, got)
			}
			if got := answer.Header.Get("X-Syncthing-Version"); !strings.HasPrefix(got, string(p.Version())) {
				p.Errorf("key %q: X-Syncthing-Version is %q", key, got)
			}
			if got := answer.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
				p.Errorf("key %q: Content-Type is %q", key, got)
			}
		}
	}},
	{"health needs no key, where there is health", Reads, func(p *Probe) {
		answer, err := p.Send(Request{Method: "GET", Path: "/rest/noauth/health"})
		if err != nil {
			p.Fatal(err)
		}
		if want := byVersion(p, http.StatusForbidden, http.StatusOK); answer.Status != want {
			p.Errorf("without a key: got %d, want %d", answer.Status, want)
		}
		if got, want := p.Do("GET", "/rest/noauth/health", "").Status,
			byVersion(p, http.StatusNotFound, http.StatusOK); got != want {
			p.Errorf("with a key: got %d, want %d", got, want)
		}
	}},
	{"plain http and https share the port", Reads, func(p *Probe) {
		for _, scheme := range []string{"http", "https"} {
			answer, err := p.Send(Request{Method: "GET", Path: "/rest/system/ping", Scheme: scheme,
				Header: map[string]string{"X-API-Key": p.Key()}})
			if err != nil || answer.Status != http.StatusOK || answer.Text != "{\n  \"ping\": \"pong\"\n}\n" {
				p.Errorf("%s: got %d %q, %v", scheme, answer.Status, answer.Text, err)
			}
		}
	}},
	{"the certificate names a host, no IP, and is not the device's", Reads, func(p *Probe) {
		c, err := tls.Dial("tcp", p.HostPort(), &tls.Config{InsecureSkipVerify: true,
			NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			p.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		state := c.ConnectionState()
		certificate := state.PeerCertificates[0]
		sum := sha256.Sum256(certificate.Raw)
		if len(state.PeerCertificates) != 1 || certificate.CheckSignatureFrom(certificate) == nil && certificate.IsCA {
			p.Errorf("the certificate is not a plain self-signed one")
		}
		if len(certificate.IPAddresses) != 0 || len(certificate.DNSNames) != 1 ||
			certificate.DNSNames[0] != certificate.Subject.CommonName {
			p.Errorf("got names %v, IPs %v, CN %q", certificate.DNSNames, certificate.IPAddresses,
				certificate.Subject.CommonName)
		}
		if fleet.DeviceIDOf(sum) == p.ID() {
			p.Errorf("it is the device certificate")
		}
		if got := "sha256:" + hex.EncodeToString(sum[:]); got != p.Pin() {
			p.Errorf("got pin %s, want %s", got, p.Pin())
		}
		life := certificate.NotAfter.Sub(certificate.NotBefore)
		if days := int(life.Hours() / 24); days < 819 || days > 821 {
			p.Errorf("it lives %d days, want 820", days)
		}
		if got, want := state.NegotiatedProtocol, byVersion(p, "", "h2"); got != want {
			p.Errorf("negotiated %q, want %q", got, want)
		}
	}},
	{"a Host header that is no loopback name is refused before the key is looked at", Reads, func(p *Probe) {
		for host, want := range map[string]int{"evil.example": 403, "localhost": 200, "127.0.0.9:99": 200, "10.1.2.3": 403} {
			answer, err := p.Send(Request{Method: "GET", Path: "/rest/system/ping", Host: host,
				Header: map[string]string{"X-API-Key": p.Key()}})
			if err != nil {
				p.Fatal(err)
			}
			if answer.Status != want || want == 403 && answer.Text != "Host check error\n" {
				p.Errorf("Host %s: got %d %q, want %d", host, answer.Status, answer.Text, want)
			}
		}
	}},
	{"a silent connection holds up all others for a second", Reads, func(p *Probe) {
		p.Get("/rest/system/ping")
		begun := time.Now()
		for range 3 {
			c, err := net.Dial("tcp", p.HostPort())
			if err != nil {
				p.Fatal(err)
			}
			defer c.Close()
		}
		p.Get("/rest/system/ping")
		if took := time.Since(begun); took < 2500*time.Millisecond {
			p.Errorf("the answer came after %s, want nearly 3 s", took)
		}
	}},
	{"an idle connection lives for 15 seconds", Reads, func(p *Probe) {
		var open []net.Conn
		var asked []time.Time
		for _, scheme := range []string{"http", "https"} {
			c := dialKept(p, scheme)
			defer c.Close()
			if err := ask(c, p); err != nil {
				p.Fatal(err)
			}
			open, asked = append(open, c), append(asked, time.Now())
		}
		// Not earlier: reads that wait 12 seconds find the connections still open.
		for i, c := range open {
			if err := c.SetReadDeadline(asked[i].Add(12 * time.Second)); err != nil {
				p.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				p.Fatalf("the connection ended within 12 s: %v", err)
			}
		}
		for _, c := range open {
			if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
				p.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				p.Errorf("got %v, want the end of the connection", err)
			}
		}
	}},
	{"a path that is none and a method that is none", Reads, func(p *Probe) {
		p.Refused("GET", "/rest/nothing", "", 404, "404 page not found")
		p.Refused("PATCH", "/rest/config", "{}", 405, "Method Not Allowed")
		p.Refused("POST", "/rest/config", "{}", 405, "Method Not Allowed")
		p.Refused("DELETE", "/rest/config/options", "", 405, "")
		if got := p.Do("PATCH", "/rest/config", "{}").Header.Get("Allow"); got != "GET, OPTIONS, PUT" {
			p.Errorf("Allow is %q", got)
		}
	}},
	{"status says who it is", Reads, func(p *Probe) {
		s := p.Get("/rest/system/status")
		p.Is(s, "myID", `"`+string(p.ID())+`"`)
		p.Is(s, "cpuPercent", "0")
		p.Is(s, "pathSeparator", `"/"`)
		p.Is(s, "guiAddressOverridden", "false")
		p.Is(s, "guiAddressUsed", `"`+p.HostPort()+`"`)
		names := map[string]bool{}
		for name := range s.Members() {
			names[name] = true
		}
		for _, name := range []string{"goroutines", "alloc", "sys", "uptime", "startTime", "tilde"} {
			if !names[name] {
				p.Errorf("status has no %s", name)
			}
		}
		if names["goRoutines"] {
			p.Errorf("status has goRoutines")
		}
	}},
	{"version says what it is", Reads, func(p *Probe) {
		v := p.Get("/rest/system/version")
		if got := v.Get("version").Str(); !strings.HasPrefix(got, string(p.Version())) {
			p.Errorf("got version %q", got)
		}
		for _, name := range []string{"arch", "codename", "longVersion", "os"} {
			if v.Get(name).Str() == "" {
				p.Errorf("version has no %s", name)
			}
		}
	}},
	{"discovery that is off is not mentioned", Writes, func(p *Probe) {
		// A server on loopback where nobody listens: nothing leaves the machine.
		p.MustDo(
			"PATCH",
			"/rest/config/options",
			`{"globalAnnounceEnabled":true,"localAnnounceEnabled":false,"globalAnnounceServers":["https://127.0.0.1:1/?insecure&noannounce"]}`,
		)
		p.Until("discovery is on", func() error {
			if s := p.Get("/rest/system/status"); !s.Get("discoveryEnabled").IsTrue() ||
				s.Get("discoveryMethods").Str() != "1" {
				return errors.New(string(s.JSON()))
			}
			return nil
		})
		p.MustDo("PATCH", "/rest/config/options", `{"globalAnnounceEnabled":false}`)
		s := p.Get("/rest/system/status")
		for _, name := range []string{"discoveryEnabled", "discoveryMethods"} {
			if s.Get(name).Exists() {
				p.Errorf("with discovery off, status has %s %s", name, s.Get(name).JSON())
			}
		}
	}},
}

// dialKept opens a connection that stays.
func dialKept(p *Probe, scheme string) net.Conn {
	p.Helper()
	var c net.Conn
	var err error
	if scheme == "https" {
		c, err = tls.Dial("tcp", p.HostPort(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	} else {
		c, err = net.Dial("tcp", p.HostPort())
	}
	if err != nil {
		p.Fatal(err)
	}
	return c
}

// ask sends one request over a kept connection and reads the answer.
func ask(c net.Conn, p *Probe) error {
	request, err := http.NewRequest("GET", "http://"+p.HostPort()+"/rest/system/ping", nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-API-Key", p.Key())
	if err := request.Write(c); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
