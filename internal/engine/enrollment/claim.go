package enrollment

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"muster/internal/fleet"
)

// challengeLife is how long after its challenge a claim is accepted.
const challengeLife = 2 * time.Minute

const (
	challengeBytes = 8 + 16 // its end, and 16 random bytes that make each challenge unique
	sumBytes       = sha256.Size
)

// Challenge returns a text that a device has to sign with its claim. It takes no memory: the server recognises its own
// challenges.
func (e *Enrollments) Challenge() (text string, until time.Time) {
	until = e.now().Add(challengeLife)
	challenge := make([]byte, challengeBytes, challengeBytes+sumBytes)
	binary.BigEndian.PutUint64(challenge, uint64(until.UnixMilli())) //nolint:gosec // after 1970
	_, _ = rand.Read(challenge[8:])                                  // never fails: it ends the process instead
	return base64.RawURLEncoding.EncodeToString(append(challenge, e.sumOf(challenge)...)), until
}

func (e *Enrollments) sumOf(challenge []byte) []byte {
	mac := hmac.New(sha256.New, e.o.ChallengeKey)
	mac.Write(challenge)
	return mac.Sum(nil)
}

func (e *Enrollments) checkChallenge(text string) error {
	const again = "Run `muster enroll` again; if it stays, compare the clocks of server and proxies."
	all, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(all) != challengeBytes+sumBytes ||
		!hmac.Equal(all[challengeBytes:], e.sumOf(all[:challengeBytes])) {
		return &fleet.Error{Code: fleet.CodeForbidden, Message: "the challenge is not of this server", Hint: again}
	}
	if until := int64(binary.BigEndian.Uint64(all)); e.o.Now().UnixMilli() >= until { //nolint:gosec // made here
		return &fleet.Error{Code: fleet.CodeForbidden,
			Message: fmt.Sprintf("the challenge is older than %v", challengeLife), Hint: again}
	}
	return nil
}

// Source tells where a claim came from.
type Source struct {
	IP    netip.Addr // address of the sender; invalid where it is not known
	Local bool       // The claim comes from this machine.
}

// Enroll registers the device that signed a claim, with an enrol key.
func (e *Enrollments) Enroll(ctx context.Context, keyHash string, claim fleet.DeviceClaim, proof fleet.DeviceProof,
	from Source) (fleet.Device, error) {
	if err := e.checkChallenge(claim.Challenge); err != nil {
		return fleet.Device{}, err
	}
	id, err := proof.Verify(claim.Statement(fleet.ClaimEnroll))
	if err != nil {
		return fleet.Device{}, err
	}
	address, err := e.address(claim.Address, from)
	if err != nil {
		return fleet.Device{}, err
	}
	device := fleet.Device{ID: id, Label: claim.Label, APIKey: claim.APIKey, APIPort: claim.APIPort, APIAddress: address}
	if err := device.Validate(); err != nil {
		return device, err
	}
	tags, err := e.tagsOfKey(ctx, keyHash)
	if err != nil {
		return fleet.Device{}, err
	}
	stored, err := e.register(ctx, fleet.Enrollment{Device: device, Pin: claim.Pin, KeyHash: keyHash, Tags: tags,
		OwnName: true, // Who has an enrol key cannot see the labels of the fleet.
		Detail:  fmt.Sprintf("by muster enroll on its machine, from %s", from.IP)})
	if err == nil {
		e.forget(id)
	}
	return stored, err
}

// Renew stores the access that a claim names, for the registered device that signed the claim. A claim without an
// address leaves the stored one. Renew needs no token, so anybody can call it, and repeat a claim: the cheap checks
// come first. For a device that is not registered the answer is that of a wrong proof, which tells nothing about the
// fleet.
func (e *Enrollments) Renew(ctx context.Context, claim fleet.DeviceClaim, proof fleet.DeviceProof,
	from Source) (fleet.Device, error) {
	if err := e.renewals.ofAddress.take(network(from.IP.String())); err != nil {
		return fleet.Device{}, err
	}
	is, err := e.proven(ctx, claim, proof)
	if err != nil {
		return fleet.Device{}, err
	}
	id := is.ID
	// The device's limit is counted after the proof, so that what others send does not use it up.
	if err := e.renewals.ofDevice.take(string(id)); err != nil {
		return fleet.Device{}, err
	}
	renewal := fleet.Renewal{Device: id, APIKey: claim.APIKey, APIPort: claim.APIPort, Pin: claim.Pin}
	if claim.Address != nil {
		address, err := e.address(claim.Address, from)
		if err != nil {
			return fleet.Device{}, err
		}
		renewal.APIAddress = &address
	}
	checked := fleet.Device{ID: id, APIKey: claim.APIKey, APIPort: claim.APIPort}
	if err := checked.Validate(); err != nil {
		return fleet.Device{}, err
	}
	if !renewal.Changes(is) {
		return is.Device, nil
	}
	stored, err := e.o.Store.RenewDevice(ctx, renewal)
	if fleet.CodeOf(err) == fleet.CodeNotFound { // The device was deleted meanwhile.
		err = errUnproven
	}
	return stored, err
}

var errUnproven error = &fleet.Error{Code: fleet.CodeNotFound,
	Message: "this device is not registered, or the signature was not made with its key",
	Hint:    "Register it: `muster enroll --key KEY` on its machine, with an enrol key of an administrator."}

// proven returns the registered device that signed a claim to renew its record. For devices that are not registered it
// does not check the signature.
func (e *Enrollments) proven(ctx context.Context, claim fleet.DeviceClaim, proof fleet.DeviceProof) (
	*fleet.Registered, error) {
	if err := e.checkChallenge(claim.Challenge); err != nil {
		return nil, err
	}
	registry, err := e.o.Store.Registry(ctx) // from memory
	if err != nil {
		return nil, err
	}
	is := registry.Devices[proof.Device()]
	if is == nil {
		return nil, errUnproven
	}
	if _, err := proof.Verify(claim.Statement(fleet.ClaimRenew)); err != nil {
		return nil, errUnproven
	}
	if revoked, is := registry.Revocations[proof.Device()]; is {
		return nil, revoked.Refusal()
	}
	return is, nil
}

// address returns the address at which the server reaches the daemon of a claim. Only administrators may give a host
// name: it could later lead to this machine, or to services in its network.
func (e *Enrollments) address(given *string, from Source) (string, error) {
	ip := from.IP
	switch {
	case given != nil && *given == "":
		return "", nil // "": the device is found by discovery
	case given != nil:
		var err error
		if ip, err = netip.ParseAddr(*given); err != nil {
			return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "with an enrol key apiAddress is an IP address",
				Hint:    "Give the IP address of the daemon's machine; an administrator can put a host name in its place.",
				Details: []fleet.Detail{{Field: "apiAddress", Message: "is an IP address"}}}
		}
	}
	ip = ip.Unmap()
	if why := e.o.RefuseIP(ip, from.Local); why != "" {
		return "", fleet.Invalidf("apiAddress", "no daemon can be reached at %s: it is %s. Give the IP address by which "+
			"the server reaches the machine", ip, why)
	}
	return ip.String(), nil
}
