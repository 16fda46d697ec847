package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// CertificateFile is the name of the file in the home that holds the generated certificate and its key.
const CertificateFile = "tls.pem"

const (
	certificateLife  = 2 * 365 * 24 * time.Hour
	certificateRenew = 30 * 24 * time.Hour // how long before its end a generated certificate is made anew, at a start
)

// newGenerated returns the certificate in the home directory. It makes one where there is none, or where the old one
// ends soon.
func newGenerated(o Options, host string) (*certificate, error) {
	path := filepath.Join(o.Home, CertificateFile)
	c := &certificate{source: source{cert: path, key: path, generated: true}, log: o.Log}
	switch err := c.begin(); {
	case err == nil && time.Until(c.shown.Leaf.NotAfter) > certificateRenew:
		for _, name := range o.Names {
			if c.shown.Leaf.VerifyHostname(name) != nil {
				o.Log.Warn("the generated certificate does not name an allowed host: remove tls.pem from the home folder to "+
					"have a new one made", logkey.Address, name)
			}
		}
		return c, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	key, err := c.keptKey()
	if err != nil {
		return nil, err
	}
	if err := generateCertificate(path, key, slices.Concat(addressesOf(host), o.Names)); err != nil {
		return nil, err
	}
	return c, c.begin()
}

// KeyFingerprint returns the fingerprint of the public key of a certificate that Muster generated. The key stays when
// the certificate is renewed. It is "" where Muster did not generate the certificate.
func (s *Socket) KeyFingerprint() string {
	if s.certificate == nil || !s.certificate.generated {
		return ""
	}
	s.certificate.mu.Lock()
	defer s.certificate.mu.Unlock()
	return fleet.KeyFingerprint(s.certificate.shown.Leaf)
}

// addressesOf returns the host on which the server listens or, for a wildcard, all present addresses of this machine.
func addressesOf(host string) []string {
	ip, err := netip.ParseAddr(host)
	if host != "" && (err != nil || !ip.IsUnspecified()) {
		return []string{host}
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // the names alone have to do
	}
	var addresses []string
	for _, one := range all {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && !prefix.Addr().IsLoopback() {
			addresses = append(addresses, prefix.Addr().WithZone("").String())
		}
	}
	return addresses
}

// keptKey returns the key of the generated certificate that ends soon, else a new key. Agents that were given the
// fingerprint of the key then still know the server.
func (c *certificate) keptKey() (*ecdsa.PrivateKey, error) {
	if c.shown != nil {
		if kept, ok := c.shown.PrivateKey.(*ecdsa.PrivateKey); ok {
			return kept, nil
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

// generateCertificate makes a certificate for these names and for this machine's, signed with its own key, and writes
// both to a file.
func generateCertificate(path string, key *ecdsa.PrivateKey, names []string) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("make a serial number: %w", err)
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
		return fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	var text strings.Builder
	for _, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := pem.Encode(&text, block); err != nil {
			return fmt.Errorf("encode a certificate: %w", err)
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("keep the generated certificate: %w", err)
	}
	return nil
}
