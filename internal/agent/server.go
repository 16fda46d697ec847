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

	"muster/internal/fleet"
	"muster/internal/tunnel"
)

const defaultPort = "2525"

// server is the manager as this agent was told to find it, and to know it.
type server struct {
	host, port   string
	fingerprints []string       // one of them is that of its certificate, or of its public key; none: roots decide
	roots        *x509.CertPool // nil: the system's
	caFile       string         // "" where the system's roots decide
}

// parseServer reads --server: a URL, or a host with or without a port.
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
	s := &server{host: host, port: port, caFile: o.CA}
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

// URL is how people write the server.
func (s *server) URL() string { return "https://" + s.address() }

func (s *server) address() string { return net.JoinHostPort(s.host, s.port) }

// handshake proves this device, and checks the server before anything is served to it.
func (s *server) handshake(ctx context.Context, conn net.Conn, device *tls.Certificate) (*tls.Conn, error) {
	secured := tls.Client(conn, &tls.Config{
		ServerName: s.host, MinVersion: tls.VersionTLS13, NextProtos: []string{tunnel.ALPN},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return device, nil },
		InsecureSkipVerify:   true, // VerifyConnection decides, by what the agent was told
		VerifyConnection:     s.verify,
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol != tunnel.ALPN {
		return nil, notForAgents(nil)
	}
	return secured, nil
}

// verify compares the server's certificate with the fingerprints, or where there are none, has the roots vouch for it.
func (s *server) verify(state tls.ConnectionState) error {
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

// unknown is the error about a server that nothing vouches for. Nothing was sent to it but the device's certificate.
func (s *server) unknown(fingerprint, why string, err error) error {
	return &unknownServer{&fleet.Error{
		Code: fleet.CodeWrongPin,
		Message: fmt.Sprintf("the certificate of %s, with the fingerprint %s, is not known: %s", s.address(), fingerprint,
			why),
		Hint: fmt.Sprintf("Compare the fingerprint with what `muster serve` printed when it started. If it is the same, "+
			"type `muster agent --server %s --fingerprint %s`; or name the server's issuer with --ca FILE. "+
			"If it is not, another server answers there: ask the administrator.", s.URL(), fingerprint),
		Err: err,
	}}
}

// unknownServer is an error that only a person can mend.
type unknownServer struct{ told *fleet.Error }

func (e *unknownServer) Error() string { return e.told.Error() }
func (e *unknownServer) Unwrap() error { return e.told }

// notForAgents is the error about a server that does not speak the agents' protocol.
func notForAgents(err error) error {
	return &fleet.Error{Code: fleet.CodeUnsupported,
		Message: "the server does not speak with agents at this address",
		Hint: "Give the address that `muster serve` prints for agents. A proxy in front of it must pass TLS through to the " +
			"server, because the device's key is proven to it.", Err: err}
}
