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

// maxRSABits bounds what checking a signature costs.
const maxRSABits = 8192

// DeviceProof shows that a statement was made with the own key of a device: its Syncthing certificate, and a signature
// by the key of that certificate.
type DeviceProof struct {
	Certificate []byte // DER
	Signature   []byte
}

// DeviceStatement is what a device signs. The first field says what the statement is for; the last ones may be blank.
// The text in front keeps it apart from everything else that is signed with the key, the handshakes of TLS above all.
func DeviceStatement(purpose, challenge string, fields ...string) []byte {
	sum := NetstringSum("muster device statement 1\n", append([]string{purpose, challenge}, fields...)...)
	return []byte("muster device statement 1\n" + sum)
}

// SignStatement signs with the key of a device's certificate.
func SignStatement(certificate []byte, key crypto.Signer, statement []byte) (DeviceProof, error) {
	signed, hash := statement, crypto.Hash(0)
	if _, whole := key.Public().(ed25519.PublicKey); !whole {
		sum := sha256.Sum256(statement)
		signed, hash = sum[:], crypto.SHA256
	}
	signature, err := key.Sign(rand.Reader, signed, hash)
	return DeviceProof{Certificate: certificate, Signature: signature}, err
}

// Device is the device of the certificate, which Verify proves.
func (p DeviceProof) Device() DeviceID { return DeviceIDOf(sha256.Sum256(p.Certificate)) }

// Verify is the device that made a statement.
func (p DeviceProof) Verify(statement []byte) (DeviceID, error) {
	certificate, err := x509.ParseCertificate(p.Certificate)
	if err != nil {
		return "", Invalidf("certificate", "the certificate of the device is none")
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
