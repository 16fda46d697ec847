package cli

import (
	"context"
	"crypto"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/agent"
	"muster/internal/fleet"
)

// claimant registers or renews a daemon by the device's own key, without an administrator's token.
type claimant struct {
	*enrollCommand
	daemon *agent.Home
	key    tls.Certificate // the certificate of the device, with its private key
	server *client.Client  // called without a token
	at     target
}

// byItself registers the device by an enrol key, or renews its record where it is registered already.
func (c *enrollCommand) byItself(ctx context.Context, env *environment, daemon *agent.Home) error {
	if len(c.Tag) > 0 {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--tag is for administrators: an enrol key has its own tags",
			Hint: "Leave --tag out, or have a key made with these tags: `muster enroll-key create --tag TAG`."}
	}
	if c.Key != "" && c.Renew {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--key and --renew are both given",
			Hint: "Leave --renew out: a device that is registered already is renewed anyway."}
	}
	if err := c.usable(daemon); err != nil {
		return err
	}
	own := &claimant{enrollCommand: c, daemon: daemon}
	if err := own.prepare(); err != nil {
		return err
	}
	stored, err := own.claim(ctx, fleet.ClaimRenew, own.server.RenewEnrollment)
	switch {
	case err == nil:
		fmt.Fprintf(env.Out, "Updated %q, %s\n", stored.Label, stored.DeviceID)
		return nil
	case fleet.CodeOf(err) != fleet.CodeNotFound || c.Renew:
		return asServer(err)
	}
	keyed, err := own.at.client(c.Key)
	if err != nil {
		return err
	}
	stored, err = own.claim(ctx, fleet.ClaimEnroll, keyed.Enroll)
	if err != nil {
		return asServer(err)
	}
	where := "the address that discovery finds"
	if stored.APIAddress != "" {
		where = fmt.Sprintf("%s:%d", stored.APIAddress, stored.APIPort)
	}
	fmt.Fprintf(env.Out, "Registered %q, %s, at %s\n", stored.Label, stored.DeviceID, where)
	return nil
}

func (o *claimant) prepare() (err error) {
	o.key, err = tls.LoadX509KeyPair(filepath.Join(o.Home, "cert.pem"), filepath.Join(o.Home, "key.pem"))
	if err != nil {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the device's certificate and key in " + o.Home +
			" cannot be read", Hint: "Run this as the user that runs Syncthing.", Err: err}
	}
	if o.at, err = o.resolved(); err != nil {
		return err
	}
	o.server, err = o.at.client("")
	return err
}

// claim signs what the device claims, and sends it.
func (o *claimant) claim(ctx context.Context, purpose fleet.ClaimPurpose,
	send func(context.Context, api.DeviceClaim) (api.Device, error)) (api.Device, error) {
	challenge, err := o.server.EnrollChallenge(ctx)
	if err != nil {
		return api.Device{}, err
	}
	claim := fleet.DeviceClaim{Challenge: challenge.Challenge, APIKey: o.daemon.APIKey, APIPort: o.daemon.Port}
	if o.Port != 0 {
		claim.APIPort = o.Port
	}
	if !o.NoPin {
		claim.Pin = o.daemon.Pin
	}
	if purpose == fleet.ClaimEnroll || o.Address != "" {
		if claim.Address, err = o.address(); err != nil {
			return api.Device{}, err
		}
	}
	if purpose == fleet.ClaimEnroll {
		claim.Label = nameOfDaemon(o.daemon)
		if o.Label != nil {
			claim.Label = *o.Label
		}
	}
	signer, able := o.key.PrivateKey.(crypto.Signer)
	if !able {
		return api.Device{}, errors.New("the key of the device cannot sign")
	}
	proof, err := fleet.SignStatement(o.key.Certificate[0], signer, claim.Statement(purpose))
	if err != nil {
		return api.Device{}, fmt.Errorf("sign with the key of the device: %w", err)
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proof.Certificate}))
	return send(ctx, api.DeviceClaim{Challenge: &claim.Challenge, Certificate: &certificate,
		Signature: new(base64.StdEncoding.EncodeToString(proof.Signature)), APIKey: new(claim.APIKey.Reveal()),
		APIPort: new(int64(claim.APIPort)), APIAddress: claim.Address, Label: &claim.Label, Pin: &claim.Pin})
}

// address is where the server reaches the daemon. nil means the address that the claim comes from.
func (o *claimant) address() (*string, error) {
	if o.Address != "" {
		return &o.Address, nil
	}
	if ip, err := netip.ParseAddr(o.daemon.Host); o.daemon.Host == "" || err == nil && ip.IsUnspecified() {
		return nil, nil //nolint:nilnil // the server knows it
	}
	host, err := o.host(o.daemon)
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return &host, err
}

// asServer keeps the server's hint of a 401: the usual hint, to log in, does not help with a wrong enrol key or
// proof.
func asServer(err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) || answer.Status != http.StatusUnauthorized {
		return err
	}
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: answer.Problem.Detail, Hint: answer.Problem.Hint}
}
