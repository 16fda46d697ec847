package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

// socks is a SOCKS 5 server (RFC 1928, RFC 1929) for one address.
type socks struct {
	net.Listener
	user, password string
	allowed        string // HOST:PORT
	asked          chan string
}

func startSOCKS(t *testing.T, allowed string) *socks {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &socks{listener, "ann", "pass", allowed, make(chan string, 10)}
	t.Cleanup(func() { _ = s.Close() })
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = s.serve(conn)
			}()
		}
	}()
	return s
}

func (s *socks) serve(conn net.Conn) error {
	if err := s.login(conn); err != nil {
		return err
	}
	begin, err := take(conn, 4) // version, command, reserved, kind of address
	if err != nil {
		return err
	}
	to, err := address(conn, begin[3])
	if err != nil {
		return err
	}
	s.asked <- to
	if to != s.allowed {
		_, err = conn.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return err
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	_, err = io.Copy(conn, server)
	return err
}

// login asks for user and password.
func (s *socks) login(conn net.Conn) error {
	begin, err := take(conn, 2)
	if err != nil {
		return err
	}
	if _, err := take(conn, int(begin[1])); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{5, 2}); err != nil {
		return err
	}
	if _, err := take(conn, 1); err != nil {
		return err
	}
	user, err := text(conn)
	if err != nil {
		return err
	}
	password, err := text(conn)
	if err != nil {
		return err
	}
	if user != s.user || password != s.password {
		_, _ = conn.Write([]byte{1, 1})
		return errors.New("wrong password")
	}
	_, err = conn.Write([]byte{1, 0})
	return err
}

func take(conn io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(conn, b)
	return b, err
}

// text is preceded by its length.
func text(conn io.Reader) (string, error) {
	length, err := take(conn, 1)
	if err != nil {
		return "", err
	}
	b, err := take(conn, int(length[0]))
	return string(b), err
}

func address(conn io.Reader, kind byte) (string, error) {
	var host string
	switch kind {
	case 1:
		ip, err := take(conn, net.IPv4len)
		if err != nil {
			return "", err
		}
		host = net.IP(ip).String()
	case 3:
		name, err := text(conn)
		if err != nil {
			return "", err
		}
		host = name
	default:
		return "", fmt.Errorf("an address of the kind %d", kind)
	}
	port, err := take(conn, 2)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, fmt.Sprint(binary.BigEndian.Uint16(port))), nil
}

func (s *socks) url(password string) *url.URL {
	return &url.URL{Scheme: "socks5", User: url.UserPassword(s.user, password), Host: s.Addr().String()}
}

func TestAnAgentConnectsThroughASOCKSProxy(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	s := startSOCKS(t, m.listener.Addr().String())
	started(t, d, m, func(o *Options) {
		o.Proxy = func(*http.Request) (*url.URL, error) { return s.url("pass"), nil }
	})
	m.accept().hello()
	if got := <-s.asked; got != m.listener.Addr().String() {
		t.Errorf("the proxy was asked for %q", got)
	}
	for _, c := range []struct{ server, password, want string }{
		{"muster.example:1", "pass", "the proxy does not connect to muster.example:1: "},
		{"muster.example:1", "wrong", "username/password authentication failed"},
	} {
		a, err := New(Options{Server: c.server, Fingerprints: []string{m.fingerprint()}, Home: d.home,
			Log:   slog.New(slog.DiscardHandler),
			Proxy: func(*http.Request) (*url.URL, error) { return s.url(c.password), nil }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.connect(t.Context())
		if fleet.CodeOf(err) != fleet.CodeUnavailable || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with the password %q: got %v", c.password, err)
		}
	}
	if got := <-s.asked; got != "muster.example:1" {
		t.Errorf("the proxy was asked for %q: it is to look up the name", got)
	}
}

func TestTheEnvironmentNamesTheProxy(t *testing.T) {
	for _, c := range []struct {
		https, all, none string
		want             string
	}{
		{"", "", "", ""},
		{"", "socks5://proxy.example", "", "socks5://proxy.example"},
		{"http://proxy.example:3128", "socks5://proxy.example", "", "http://proxy.example:3128"},
		{"", "socks5h://proxy.example:1080", "muster.example", ""},
		{"https://proxy.example", "", ".example", ""},
	} {
		t.Setenv("HTTPS_PROXY", c.https)
		t.Setenv("https_proxy", "")
		t.Setenv("ALL_PROXY", c.all)
		t.Setenv("all_proxy", "")
		t.Setenv("NO_PROXY", c.none)
		t.Setenv("no_proxy", "")
		r := &http.Request{URL: &url.URL{Scheme: "https", Host: "muster.example:2525"}}
		at, err := environmentProxy(r)
		got := ""
		if at != nil {
			got = at.String()
		}
		if err != nil || got != c.want {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}

func TestAProxyOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	s := &server{host: "muster.example", port: "2525"}
	_, err := s.dial(t.Context(), func(*http.Request) (*url.URL, error) { return url.Parse("socks4://proxy.example") })
	var e *fleet.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "socks4") || !strings.Contains(e.Hint, "socks5://") {
		t.Errorf("got %v", err)
	}
}
