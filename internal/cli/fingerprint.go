package cli

import (
	"crypto/tls"
	"fmt"
	"strings"

	"muster/internal/fleet"
)

// byFingerprint trusts one certificate, or one public key, and nothing else.
func (t target) byFingerprint() (*tls.Config, error) {
	pin, err := fleet.ParsePin(t.fingerprint)
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q is no fingerprint", t.fingerprint),
			Hint: "It is sha256: and 64 hexadecimal digits; `muster serve` prints it when it starts."}
	}
	if !strings.HasPrefix(t.address, "https://") {
		return nil, &fleet.Error{Code: fleet.CodeInvalid,
			Message: "a fingerprint proves nothing about " + t.address + ", which is plain HTTP",
			Hint:    "Write https:// before the address of the server, or leave --fingerprint (or MUSTER_FINGERPRINT) out."}
	}
	return &tls.Config{MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection decides, by the fingerprint
		VerifyConnection: func(state tls.ConnectionState) error {
			shown := state.PeerCertificates[0]
			key := fleet.KeyFingerprint(shown)
			if pin == key || pin == fleet.CertificateOf(shown).Fingerprint {
				return nil
			}
			return &fleet.Error{Code: fleet.CodeWrongPin,
				Message: fmt.Sprintf("the server at %s has the fingerprint %s, not the one that was given", t.address, key),
				Hint: "Compare it with what `muster serve` printed when it started. If it differs, another server answers " +
					"there: ask the administrator."}
		}}, nil
}
