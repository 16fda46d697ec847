package fleet

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Introduction says who gave the address of a daemon. It decides whether an unknown certificate there is trusted on
// first use. The zero value, ByAnybody, is the weakest.
type Introduction string

const (
	ByAnybody Introduction = ""       // a local announcement or a different daemon: nothing but a pin is trusted there
	ByServer  Introduction = "server" // a discovery server, which knows the announcer by its device certificate
	ByPerson  Introduction = "person" // typed into the device's record
	ByAgent   Introduction = "agent"  // the device's agent, which has proven itself with the device's own key
)

// PinOrigin says where the pin of a device came from.
type PinOrigin string

const (
	PinNone      PinOrigin = ""          // no pin yet
	PinFirstUse  PinOrigin = "firstUse"  // the first certificate that the daemon showed was trusted
	PinGiven     PinOrigin = "given"     // an administrator gave it, or enroll on the daemon's machine
	PinForgotten PinOrigin = "forgotten" // no pin, because an administrator removed it
)

// Certificate identifies the certificate of a daemon's API.
type Certificate struct {
	Fingerprint string // SHA-256 as "sha256:<hex>"; "" for no certificate
	NotBefore   time.Time
	NotAfter    time.Time // zero when unknown
}

// CertificateOf describes a certificate that a daemon showed.
func CertificateOf(c *x509.Certificate) Certificate {
	sum := sha256.Sum256(c.Raw)
	return Certificate{Fingerprint: fmt.Sprintf("sha256:%x", sum), NotBefore: c.NotBefore.UTC(),
		NotAfter: c.NotAfter.UTC()}
}

// KeyFingerprint returns the fingerprint of a certificate's public key, which does not change when the certificate is
// renewed with the same key.
func KeyFingerprint(c *x509.Certificate) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(c.RawSubjectPublicKeyInfo))
}

// Shown is a certificate that a daemon showed, and its address.
type Shown struct {
	Certificate
	Address string
	FoundBy string
	At      time.Time
}

// Served is the certificate of Muster's own API.
type Served struct {
	Certificate
	Stale bool // its files now contain a certificate that cannot be used
}

// RenewalNotice is how long before the end of a certificate people are warned. Syncthing renews it in its last month.
const RenewalNotice = 45 * 24 * time.Hour

// EndsSoon reports whether the certificate ends within RenewalNotice.
func (c Certificate) EndsSoon(now time.Time) bool {
	return !c.NotAfter.IsZero() && now.After(c.NotAfter.Add(-RenewalNotice))
}

var pinForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// ShortPin returns the beginning of a fingerprint, for sentences.
func ShortPin(pin string) string {
	const enough = len("sha256:") + 16
	if len(pin) <= enough {
		return pin
	}
	return pin[:enough] + "…"
}

// ParsePin parses the fingerprint of a certificate, in upper or lower case.
func ParsePin(text string) (string, error) {
	pin := strings.ToLower(strings.TrimSpace(text))
	if !pinForm.MatchString(pin) {
		return "", Invalidf("pin",
			"a pin is sha256: and the 64 hexadecimal digits of the certificate's SHA-256; in settings a blank one forgets it")
	}
	return pin, nil
}
