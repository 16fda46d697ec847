package enrollment

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// signer is the machine of a device.
type signer struct {
	certificate []byte
	key         ed25519.PrivateKey
}

func newSigner(t *testing.T) signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)},
		&x509.Certificate{}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return signer{certificate, key}
}

// renewal is a claim with a new challenge, and its proof.
func (s signer) renewal(t *testing.T, e *Enrollments, apiKey string) (fleet.DeviceClaim, fleet.DeviceProof) {
	t.Helper()
	challenge, _ := e.Challenge()
	claim := fleet.DeviceClaim{Challenge: challenge, APIKey: fleet.NewSecret(apiKey), APIPort: 8384}
	proof, err := fleet.SignStatement(s.certificate, s.key, claim.Statement(fleet.ClaimRenew))
	if err != nil {
		t.Fatal(err)
	}
	return claim, proof
}

func (s signer) id() fleet.DeviceID { return fleet.DeviceProof{Certificate: s.certificate}.Device() }

// registering keeps the devices of machines, with a blank API key.
func registering(all ...signer) *kept {
	k := &kept{registry: fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}}
	for _, s := range all {
		k.registry.Devices[s.id()] = &fleet.Registered{Device: fleet.Device{ID: s.id(), APIPort: 8384}}
	}
	return k
}

func fromAddress(n int) Source { return Source{IP: netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", n))} }

// One signed claim was good for as many transactions of the database as anybody cared to send within two minutes.
func TestARepeatedClaimWroteEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t)
		k := registering(s)
		e := newEnrollments(k)
		claim, proof := s.renewal(t, e, "newer")
		refused := 0
		for n := range 100 {
			stored, err := e.Renew(t.Context(), claim, proof, fromAddress(n))
			switch {
			case fleet.CodeOf(err) == fleet.CodeTooMany:
				if told := err.(*fleet.Error); told.RetryAfter < time.Second || told.RetryAfter > time.Minute {
					t.Fatalf("got %+v", told)
				}
				refused++
			case err != nil || stored.APIKey != claim.APIKey:
				t.Fatalf("got %+v, %v", stored, err)
			}
		}
		if k.renewed != 1 || refused != 100-renewalsOfDevice {
			t.Errorf("wrote %d times, refused %d of 100", k.renewed, refused)
		}
		time.Sleep(renewalsOfDeviceEach)
		claim, proof = s.renewal(t, e, "newest")
		if _, err := e.Renew(t.Context(), claim, proof, fromAddress(1)); err != nil || k.renewed != 2 {
			t.Errorf("after a while: got %v, wrote %d times", err, k.renewed)
		}
	})
}

func TestRenewalToldWhetherADeviceIsRegistered(t *testing.T) {
	registered, other := newSigner(t), newSigner(t)
	k := registering(registered)
	e := newEnrollments(k)
	claim, proof := registered.renewal(t, e, "newer")
	proof.Signature[0] ^= 1
	_, wrong := e.Renew(t.Context(), claim, proof, fromAddress(1))
	claim, proof = other.renewal(t, e, "newer")
	_, unknown := e.Renew(t.Context(), claim, proof, fromAddress(1))
	if wrong == nil || wrong != unknown || fleet.CodeOf(wrong) != fleet.CodeNotFound || k.renewed != 0 {
		t.Errorf("a wrong proof: %v; not registered: %v; wrote %d times", wrong, unknown, k.renewed)
	}
}

// The certificate of a device is no secret: what others send with it leaves the device its turns.
func TestOthersDoNotKeepADeviceFromRenewing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t)
		e := newEnrollments(registering(s))
		claim, proof := s.renewal(t, e, "newer")
		forged := fleet.DeviceProof{Certificate: proof.Certificate, Signature: make([]byte, len(proof.Signature))}
		refused := 0
		for n := range 200 {
			neighbour := Source{IP: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n))}
			if _, err := e.Renew(t.Context(), claim, forged, neighbour); fleet.CodeOf(err) == fleet.CodeTooMany {
				refused++
			}
		}
		if refused != 200-renewalsOfAddress {
			t.Errorf("%d of 200 from one network were refused", refused)
		}
		if _, err := e.Renew(t.Context(), claim, proof, fromAddress(1)); err != nil {
			t.Error(err)
		}
	})
}

func TestLimitsTakeBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimit(1, time.Second, "")
		const more = 100 // each of them goes through all that are counted
		for n := range maxCounted + more {
			_ = l.take(fmt.Sprint(n))
		}
		if len(l.of) > maxCounted+1 {
			t.Errorf("%d are counted", len(l.of))
		}
		time.Sleep(time.Hour)
		if err := l.take("another"); err != nil || len(l.of) > 2 {
			t.Errorf("got %v, %d are counted", err, len(l.of))
		}
	})
}
