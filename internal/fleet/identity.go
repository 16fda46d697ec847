package fleet

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Introduction says on whose word a daemon is looked for at an address. It decides whether an unknown certificate
// there is trusted on first use. The zero value, ByAnybody, is the weakest.
type Introduction string

const (
	ByAnybody Introduction = ""       // a local announcement, another daemon: only a pinned certificate is believed there
	ByServer  Introduction = "server" // a discovery server, which knows the announcer by its device certificate
	ByPerson  Introduction = "person" // typed into the device's record
	ByAgent   Introduction = "agent"  // the device's own key: its agent has connected, and nothing else is proven by it
)

// PinOrigin says how a device came to its pin.
type PinOrigin string

const (
	PinNone      PinOrigin = ""          // there is none and never was
	PinFirstUse  PinOrigin = "firstUse"  // the first certificate that was shown was trusted
	PinGiven     PinOrigin = "given"     // by an administrator, or by enroll on the daemon's machine
	PinForgotten PinOrigin = "forgotten" // there is none, because an administrator forgot it
)

// Certificate is what identifies the certificate of a daemon's API.
type Certificate struct {
	Fingerprint string // SHA-256 as "sha256:<hex>"; "" for no certificate
	NotBefore   time.Time
	NotAfter    time.Time // zero when it is not known
}

// CertificateOf describes a certificate that was shown.
func CertificateOf(c *x509.Certificate) Certificate {
	sum := sha256.Sum256(c.Raw)
	return Certificate{Fingerprint: fmt.Sprintf("sha256:%x", sum), NotBefore: c.NotBefore.UTC(),
		NotAfter: c.NotAfter.UTC()}
}

// KeyFingerprint is that of the public key of a certificate, which stays when the certificate is renewed.
func KeyFingerprint(c *x509.Certificate) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(c.RawSubjectPublicKeyInfo))
}

// Shown is a certificate that was shown, and where.
type Shown struct {
	Certificate
	Address string
	FoundBy string
	At      time.Time
}

// Served is the certificate of Muster's own API.
type Served struct {
	Certificate
	Stale bool // its files hold something else that cannot be used
}

// RenewalNotice is how long before its end a certificate is warned of. Syncthing makes another one in the last month.
const RenewalNotice = 45 * 24 * time.Hour

// EndsSoon tells whether the daemon will show another certificate before long.
func (c Certificate) EndsSoon(now time.Time) bool {
	return !c.NotAfter.IsZero() && now.After(c.NotAfter.Add(-RenewalNotice))
}

var pinForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// ShortPin is the beginning of a fingerprint, for a sentence. The whole is in the device's certificate.
func ShortPin(pin string) string {
	const enough = len("sha256:") + 16
	if len(pin) <= enough {
		return pin
	}
	return pin[:enough] + "…"
}

// ParsePin reads the fingerprint of a certificate, in any case.
func ParsePin(text string) (string, error) {
	pin := strings.ToLower(strings.TrimSpace(text))
	if !pinForm.MatchString(pin) {
		return "", Invalidf("pin",
			"a pin is sha256: and the 64 hexadecimal digits of the certificate's SHA-256; in settings a blank one forgets it")
	}
	return pin, nil
}
