package agent

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"

	"muster/internal/fleet"
)

// proxyHeaderBytes is the size limit of a proxy's answer to CONNECT.
const proxyHeaderBytes = 16 << 10

// environmentProxy returns the proxy that HTTPS_PROXY names, or else ALL_PROXY. It returns none for a server that
// NO_PROXY lists.
func environmentProxy(r *http.Request) (*url.URL, error) {
	config := httpproxy.FromEnvironment()
	config.HTTPSProxy = cmp.Or(config.HTTPSProxy, os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	return config.ProxyFunc()(r.URL)
}

// dial opens a connection to the server, through the proxy that proxyOf returns, if any.
func (s *server) dial(ctx context.Context, proxyOf func(*http.Request) (*url.URL, error)) (net.Conn, error) {
	through, err := proxyOf(&http.Request{URL: &url.URL{Scheme: "https", Host: s.address()}})
	switch {
	case err != nil:
		return nil, badProxy("the environment names no usable proxy", err)
	case through == nil:
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", s.address())
		if err != nil {
			return nil, s.unreachable(err)
		}
		return conn, nil
	}
	switch through.Scheme {
	case "http", "https":
		return dialHTTP(ctx, through, s.address())
	case "socks5", "socks5h":
		return dialSOCKS(ctx, through, s.address())
	}
	return nil, badProxy(fmt.Sprintf("the proxy is of the kind %q", through.Scheme), nil)
}

// dialHTTP opens a connection to an address through an HTTP proxy.
func dialHTTP(ctx context.Context, through *url.URL, to string) (net.Conn, error) {
	port := "80"
	if through.Scheme == "https" {
		port = "443"
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(through.Hostname(), cmp.Or(through.Port(), port)))
	if err != nil {
		return nil, badProxy(fmt.Sprintf("the proxy %s cannot be reached", through.Host), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if through.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: through.Hostname(), MinVersion: tls.VersionTLS12})
	}
	if err := connectThrough(conn, through, to); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// dialSOCKS opens a connection to an address through a SOCKS 5 proxy. The proxy looks up the server's name.
func dialSOCKS(ctx context.Context, through *url.URL, to string) (net.Conn, error) {
	var credentials *proxy.Auth
	if user := through.User; user != nil {
		password, _ := user.Password()
		credentials = &proxy.Auth{User: user.Username(), Password: password}
	}
	at := net.JoinHostPort(through.Hostname(), cmp.Or(through.Port(), "1080"))
	dialer, err := proxy.SOCKS5("tcp", at, credentials, &net.Dialer{})
	if err != nil {
		return nil, badProxy("the proxy cannot be used", err)
	}
	conn, err := dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, badProxy(fmt.Sprintf("the proxy does not connect to %s", to), err)
	}
	return conn, nil
}

// unreachable makes the error for a server that cannot be reached at its address.
func (s *server) unreachable(err error) error {
	hint := "Check the address and port, that `muster serve` runs and listens beyond its own machine (--listen :2525), and " +
		"firewalls in between."
	if name := (*net.DNSError)(nil); errors.As(err, &name) {
		hint = "If this machine does not know the server's name, give its IP address in --server, with the same fingerprint."
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the server cannot be reached", Hint: hint, Err: err}
}

// connectThrough sends CONNECT to a proxy and reads its answer. All later bytes come from the server.
func connectThrough(conn net.Conn, proxy *url.URL, to string) error {
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		ask.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := ask.Write(conn); err != nil {
		return badProxy(fmt.Sprintf("the proxy %s ends the connection", proxy.Host), err)
	}
	reader := bufio.NewReader(&bounded{conn, proxyHeaderBytes})
	answer, err := http.ReadResponse(reader, ask)
	if err != nil {
		return badProxy(fmt.Sprintf("the proxy %s does not answer, or not as a proxy", proxy.Host), err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode != http.StatusOK:
		return badProxy(fmt.Sprintf("the proxy refuses to connect to %s: %s", to, shortened(answer.Status)), nil)
	case reader.Buffered() > 0:
		return badProxy("the proxy sends more than its answer", nil)
	}
	return nil
}

// bounded is a reader that fails after a number of bytes.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the proxy's answer is too long")
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func badProxy(why string, err error) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: why, Err: err,
		Hint: "HTTPS_PROXY or ALL_PROXY names an http:// or https:// proxy that allows CONNECT to the server's port, or a " +
			"socks5:// proxy; NO_PROXY names what is reached without it."}
}
