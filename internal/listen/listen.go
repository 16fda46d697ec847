// Package listen is the socket of the API: its address, its certificate, the connections that clients may have at a
// time, and how long each of them may take.
package listen

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/seal"
)

// CertificateFile is the name of the file in the home that holds the generated certificate and its key.
const CertificateFile = "tls.pem"

const (
	certificateLife  = 2 * 365 * 24 * time.Hour
	certificateRenew = 30 * 24 * time.Hour // before its end a generated certificate is made anew, at start
)

// Options say where and how to listen.
type Options struct {
	Address         string // HOST:PORT
	Home            string // folder of the generated certificate
	TLSOff          bool
	TLSCert, TLSKey string   // files; "": a certificate is generated where one is needed
	Names           []string // that clients may address the server by, for the generated certificate
	Log             *slog.Logger

	Clients int // connections at a time
	Reserve int // more of them, which last for a moment
	// Reserved marks the requests of a connection of the reserve.
	Reserved func(context.Context) context.Context
}

// Listen opens the API's socket: plain HTTP on loopback or with TLSOff, TLS everywhere else. url is where a person on
// this machine reaches the server.
func Listen(o Options) (listener net.Listener, url string, err error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, "", &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--listen %q is no HOST:PORT", o.Address),
			Hint: "For example --listen 127.0.0.1:2525, or --listen :2525 for every address of this machine."}
	}
	plain, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, "", &fleet.Error{Code: fleet.CodeUnavailable, Message: fmt.Sprintf("cannot listen on %s: %v", o.Address,
			err),
			Hint: listenHint(err), Err: err}
	}
	plain = boundClients(plain, o)
	if o.TLSCert == "" && (o.TLSOff || isLoopback(host)) {
		return plain, urlOf("http", plain.Addr()), nil
	}
	certificate, err := serverCertificate(o, host)
	if err != nil {
		plain.Close()
		return nil, "", err
	}
	return tls.NewListener(plain, &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}), urlOf("https", plain.Addr()), nil
}

// listenHint says what can be done about an address that cannot be listened on.
func listenHint(err error) string {
	const choose = " Choose another address with --listen."
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "Another program listens there, perhaps another Muster." + choose
	case errors.Is(err, syscall.EACCES):
		return "Ports below 1024 are for privileged programs." + choose
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "This machine does not have that address." + choose
	}
	return "For example --listen 127.0.0.1:2525, or --listen :2525 for every address of this machine."
}

// urlOf is where a socket is reached on this machine: a wildcard is no address to call.
func urlOf(scheme string, at net.Addr) string {
	address, err := netip.ParseAddrPort(at.String())
	if err == nil && address.Addr().IsUnspecified() {
		return fmt.Sprintf("%s://localhost:%d", scheme, address.Port())
	}
	return scheme + "://" + at.String()
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func serverCertificate(o Options, host string) (tls.Certificate, error) {
	if o.TLSCert != "" {
		if err := seal.CheckFile(o.TLSKey); err != nil {
			return tls.Certificate{}, err
		}
		certificate, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return tls.Certificate{}, &fleet.Error{Code: fleet.CodeInvalid, Message: "--tls-cert and --tls-key do not load: " +
				err.Error(),
				Hint: "Give a certificate and the key that belongs to it, both in PEM."}
		}
		return certificate, nil
	}
	path := filepath.Join(o.Home, CertificateFile)
	certificate, err := tls.LoadX509KeyPair(path, path)
	if err == nil && time.Until(certificate.Leaf.NotAfter) > certificateRenew {
		for _, name := range o.Names {
			if certificate.Leaf.VerifyHostname(name) != nil {
				o.Log.Warn("the generated certificate does not name an allowed host: remove tls.pem from the home folder to "+
					"have a new one made", logkey.Address, name)
			}
		}
		return certificate, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, &fleet.Error{Code: fleet.CodeInvalid,
			Message: "the generated certificate tls.pem does not load: " + err.Error(),
			Hint: "Remove tls.pem from the home folder to have a new one made; clients that trusted the old one must trust " +
				"the new one."}
	}
	return generateCertificate(path, slices.Concat(addressesOf(host), o.Names))
}

// addressesOf is the host that is listened on; of a wildcard, every address that this machine has now.
func addressesOf(host string) []string {
	ip, err := netip.ParseAddr(host)
	if host != "" && (err != nil || !ip.IsUnspecified()) {
		return []string{host}
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // the names have to do
	}
	var addresses []string
	for _, one := range all {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && !prefix.Addr().IsLoopback() {
			addresses = append(addresses, prefix.Addr().WithZone("").String())
		}
	}
	return addresses
}

// generateCertificate makes a self-signed certificate for these names and this machine's, and keeps it with its key.
func generateCertificate(path string, names []string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "muster"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if own, err := os.Hostname(); err == nil {
		names = append(names, own)
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if name != "" {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("encode a key: %w", err)
	}
	var text strings.Builder
	for _, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := pem.Encode(&text, block); err != nil {
			return tls.Certificate{}, fmt.Errorf("encode a certificate: %w", err)
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return tls.Certificate{}, fmt.Errorf("keep the generated certificate: %w", err)
	}
	return tls.LoadX509KeyPair(path, path)
}
