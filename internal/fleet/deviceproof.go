package fleet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
)

// maxRSABits limits the time that verifying a signature takes.
const maxRSABits = 8192

// DeviceProof proves that a device made a statement. It consists of the device's Syncthing certificate and a signature
// by the key of that certificate.
type DeviceProof struct {
	Certificate []byte // DER
	Signature   []byte
}

// DeviceStatement returns the bytes that a device signs. purpose says what the statement is for. The last fields may
// be blank. A fixed prefix distinguishes a statement from everything else that is signed with the key, in particular
// TLS handshakes.
func DeviceStatement(purpose, challenge string, fields ...string) []byte {
	sum := NetstringSum("muster device statement 1\n", append([]string{purpose, challenge}, fields...)...)
	return []byte("muster device statement 1\n" + sum)
}

// SignStatement signs a statement with the key of a device's certificate.
func SignStatement(certificate []byte, key crypto.Signer, statement []byte) (DeviceProof, error) {
	signed, hash := statement, crypto.Hash(0)
	if _, whole := key.Public().(ed25519.PublicKey); !whole {
		sum := sha256.Sum256(statement)
		signed, hash = sum[:], crypto.SHA256
	}
	signature, err := key.Sign(rand.Reader, signed, hash)
	return DeviceProof{Certificate: certificate, Signature: signature}, err
}

// Device returns the device of the certificate. Only Verify proves it.
func (p DeviceProof) Device() DeviceID { return DeviceIDOf(sha256.Sum256(p.Certificate)) }

// Verify returns the device that made a statement, or an error when the proof is not valid.
func (p DeviceProof) Verify(statement []byte) (DeviceID, error) {
	certificate, err := x509.ParseCertificate(p.Certificate)
	if err != nil {
		return "", Invalidf("certificate", "the certificate of the device cannot be read")
	}
	var algorithm x509.SignatureAlgorithm
	switch key := certificate.PublicKey.(type) {
	case *ecdsa.PublicKey:
		algorithm = x509.ECDSAWithSHA256
	case ed25519.PublicKey:
		algorithm = x509.PureEd25519
	case *rsa.PublicKey:
		if key.N.BitLen() > maxRSABits {
			return "", Invalidf("certificate", "the key of the certificate has more than %d bits", maxRSABits)
		}
		algorithm = x509.SHA256WithRSA
	default:
		return "", Invalidf("certificate", "the key of the certificate is of a kind that Syncthing does not use")
	}
	if err := certificate.CheckSignature(algorithm, statement, p.Signature); err != nil {
		return "", &Error{Code: CodeForbidden, Message: "the signature was not made with the key of the certificate",
			Hint: "Run `muster enroll` on the machine of the daemon, as the user who may read cert.pem and key.pem.", Err: err}
	}
	return p.Device(), nil
}
