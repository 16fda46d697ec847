package stsim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
)

const (
	guiCertificateLife    = 820 * 24 * time.Hour
	deviceCertificateLife = 20 * 365 * 24 * time.Hour
)

// newCertificate makes a self-signed certificate as Syncthing does: name and SAN are the host name only, never an IP.
func newCertificate(name string, life time.Duration) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now().Truncate(24 * time.Hour)
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject: pkix.Name{CommonName: name, Organization: []string{"Syncthing"},
			OrganizationalUnit: []string{"Automatically Generated"}},
		DNSNames:              []string{name},
		NotBefore:             now,
		NotAfter:              now.Add(life),
		SignatureAlgorithm:    x509.ECDSAWithSHA256,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// pinOf is how Muster writes the pin of a certificate.
func pinOf(c *tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return "sha256:" + hex.EncodeToString(sum[:])
}

// guiIdentity is the certificate of a daemon's API, made when first needed: a farm of thousands starts sooner.
type guiIdentity struct {
	mu          sync.Mutex // guards certificate
	name        string
	certificate *tls.Certificate
}

func (g *guiIdentity) get() (*tls.Certificate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.certificate == nil {
		certificate, err := newCertificate(g.name, guiCertificateLife)
		if err != nil {
			return nil, err
		}
		g.certificate = certificate
	}
	return g.certificate, nil
}

func (g *guiIdentity) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.certificate = nil
}

// deviceCertificates makes the certificates whose hashes are the device IDs, on all processors.
func deviceCertificates(n int) ([]*tls.Certificate, error) {
	certificates := make([]*tls.Certificate, n)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	const batch = 64
	for from := 0; from < n; from += batch {
		g.Go(func() error {
			for i := from; i < min(from+batch, n); i++ {
				certificate, err := newCertificate("syncthing", deviceCertificateLife)
				if err != nil {
					return err
				}
				certificates[i] = certificate
			}
			return nil
		})
	}
	return certificates, g.Wait()
}

func deviceIDOf(c *tls.Certificate) fleet.DeviceID {
	return fleet.DeviceIDOf(sha256.Sum256(c.Certificate[0]))
}
