package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

const defaultPort = "2525"

// server is the manager: its address and how its certificate is verified.
type server struct {
	host, port   string
	fingerprints []string       // The server's certificate or its public key must have one of these; empty: roots decide.
	roots        *x509.CertPool // nil: those of the system
	caFile       string         // "" when the system's roots decide
	options      Options        // Printed commands repeat them.
}

// parseServer parses --server: a URL, or a host with or without a port.
func parseServer(text string) (host, port string, err error) {
	wrong := func(why string) error {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--server %q %s", text, why),
			Hint: "For example --server https://muster.example:2525, as `muster serve` prints it when it starts."}
	}
	full, port := text, "443"
	if !strings.Contains(text, "://") {
		full, port = "https://"+text, defaultPort
	}
	at, err := url.Parse(full)
	switch {
	case err != nil || at.Hostname() == "":
		return "", "", wrong("is no address")
	case at.Scheme == "http":
		return "", "", wrong("is plain HTTP: agents prove themselves, and know the server, by TLS only")
	case at.Scheme != "https":
		return "", "", wrong("is no https:// address")
	case at.User != nil || strings.Trim(at.Path, "/") != "" || at.RawQuery != "" || at.Fragment != "":
		return "", "", wrong("has more than a host and a port")
	}
	if at.Port() != "" {
		port = at.Port()
	}
	return at.Hostname(), port, nil
}

func newServer(o Options) (*server, error) {
	host, port, err := parseServer(o.Server)
	if err != nil {
		return nil, err
	}
	s := &server{host: host, port: port, caFile: o.CA, options: o}
	for _, text := range o.Fingerprints {
		fingerprint, err := fleet.ParsePin(text)
		if err != nil {
			return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--fingerprint %q is no fingerprint", text),
				Hint: "It is sha256: and 64 hexadecimal digits; `muster serve` prints it when it starts."}
		}
		s.fingerprints = append(s.fingerprints, fingerprint)
	}
	if o.CA == "" {
		return s, nil
	}
	text, err := os.ReadFile(o.CA)
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "--ca cannot be read", Err: err,
			Hint: "Give a file with the server's certificate, or its issuer's, in PEM."}
	}
	if s.roots = x509.NewCertPool(); !s.roots.AppendCertsFromPEM(text) {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: o.CA + " holds no certificate",
			Hint: "Give a file with the server's certificate, or its issuer's, in PEM."}
	}
	return s, nil
}

// URL returns the server's address as people write it.
func (s *server) URL() string { return "https://" + s.address() }

func (s *server) address() string { return net.JoinHostPort(s.host, s.port) }

// handshake proves this device and verifies the server, before the agent serves any request.
func (s *server) handshake(ctx context.Context, conn net.Conn, device *tls.Certificate) (*tls.Conn, error) {
	secured := tls.Client(conn, &tls.Config{
		ServerName: s.host, MinVersion: tls.VersionTLS13, NextProtos: []string{tunnel.ALPN},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return device, nil },
		InsecureSkipVerify:   true, // VerifyConnection verifies the certificate.
		VerifyConnection:     s.verify,
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured, nil
}

// verify compares the server's certificate with the fingerprints. Without fingerprints it verifies the certificate
// with the roots. A proxy that ends TLS is found first: its certificate is not the server's, so nobody is to trust it.
func (s *server) verify(state tls.ConnectionState) error {
	if state.NegotiatedProtocol != tunnel.ALPN {
		return notForAgents(nil)
	}
	shown := state.PeerCertificates[0]
	fingerprint := fleet.CertificateOf(shown).Fingerprint
	publicKey := fleet.KeyFingerprint(shown)
	if len(s.fingerprints) > 0 {
		if slices.Contains(s.fingerprints, fingerprint) || slices.Contains(s.fingerprints, publicKey) {
			return nil
		}
		return s.unknown(publicKey, "the fingerprint is none of those that were given", nil)
	}
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := shown.Verify(x509.VerifyOptions{Roots: s.roots, Intermediates: between, DNSName: s.host})
	if err != nil {
		vouching := "no authority that this system trusts"
		if s.caFile != "" {
			vouching = "nothing in " + s.caFile
		}
		return s.unknown(publicKey, vouching+" vouches for it", err)
	}
	return nil
}

// unknown makes the error for a server whose certificate is not trusted. The server has received only the device's
// certificate, which is public.
func (s *server) unknown(fingerprint, why string, err error) error {
	return &unknownServer{&fleet.Error{
		Code: fleet.CodeWrongPin,
		Message: fmt.Sprintf("the certificate of %s, with the fingerprint %s, is not known: %s", s.address(), fingerprint,
			why),
		Hint: fmt.Sprintf("Compare the fingerprint with what `muster serve` printed when it started. If it is the same, "+
			"type `%s`%s; or name the server's issuer with --ca FILE. If it is not, another server answers there: ask the "+
			"administrator.", s.options.command(s.URL(), fingerprint), s.options.keyToRepeat()),
		Err: err,
	}}
}

// unknownServer is an error that only a person can fix, so the agent does not retry.
type unknownServer struct{ told *fleet.Error }

func (e *unknownServer) Error() string { return e.told.Error() }
func (e *unknownServer) Unwrap() error { return e.told }

// notForAgents makes the error for a server that does not accept agents at this address.
func notForAgents(err error) error {
	return &fleet.Error{Code: fleet.CodeUnsupported,
		Message: "the server does not speak with agents at this address",
		Hint: "Give the address that `muster serve` prints for agents. A proxy in front of it must pass TLS through to the " +
			"server, because the device's key is proven to it.", Err: err}
}
