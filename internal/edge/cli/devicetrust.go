package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// deviceTrustCommand takes its answers from the command line only: one in the environment would trust every
// certificate.
type deviceTrustCommand struct {
	connection
	output
	selecting
	messaging
	Fingerprint string `env:"-" help:"Take the certificate only if it is this one, without asking: sha256:HEX, or as openssl prints it." placeholder:"sha256:HEX"`
	Yes         bool   `short:"y" env:"-" help:"Do not ask. Where the address was found on anybody's word, --fingerprint is needed instead."`
}

// howToCompare is where a person finds the fingerprint of the daemon's own certificate.
const howToCompare = "Compare it on the daemon's machine, in Syncthing's home: " +
	"openssl x509 -noout -fingerprint -sha256 -in https-cert.pem. `muster enroll` there does the same."

// presented is a device with the certificates that are known of it.
type presented struct {
	device api.Device
	trust  api.DeviceTrust
}

// Help says what happens with several devices.
func (deviceTrustCommand) Help() string {
	return `Of several devices, those that show another certificate than the pinned one are listed, and pinned after an answer. Left
out are devices without a pin, and those whose address was found on anybody's word: each is compared by itself.`
}

// Run shows the certificates of one device, or the changed ones of several, and pins what a person trusts.
func (c *deviceTrustCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := c.selected(ctx, server)
	switch {
	case err != nil:
		return err
	case len(devices) == 1 && !c.isUsed():
		return c.one(ctx, env, server, devices[0])
	case c.Fingerprint != "":
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "a fingerprint is that of one device",
			Hint: "Name one device, without --tag and --filter."}
	}
	return c.many(ctx, env, server, devices)
}

func (c *deviceTrustCommand) one(ctx context.Context, env *environment, server *client.Client,
	device api.Device) error {
	trust, err := server.DeviceTrust(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	if trust.Altered {
		return c.prove(ctx, env, server, device)
	}
	shown := trust.Presented.Fingerprint
	printTrust(c.texts(env), presented{device, trust}, time.Now())
	if c.Fingerprint != "" {
		expected, err := fleet.ParsePin(fromOpenSSL(c.Fingerprint))
		if err != nil {
			return err
		}
		if shown != expected {
			return &fleet.Error{
				Code: fleet.CodeConflict, Message: "the certificate that is shown is not the expected one: nothing was changed",
				Hint: "If the expected one is right, somebody else answers at that address.",
			}
		}
	}
	switch {
	case shown == "":
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "no certificate of this device was seen yet",
			Hint: "`muster status " + fleet.DeviceID(device.DeviceID).Short() +
				"` says why. `muster enroll` on its machine pins the certificate beforehand."}
	case shown == trust.Pinned.Fingerprint && trust.Origin == string(fleet.PinGiven):
		return c.done(env, device.DeviceID, trust, "There is nothing to do: it shows the pinned certificate.")
	case c.Yes && c.Fingerprint == "" && onAnybodysWord(trust.Presented.FoundBy):
		return &fleet.Error{Code: fleet.CodeConflict,
			Message: "the address was found on anybody's word: --yes alone would trust anybody",
			Hint:    "Give the fingerprint of the daemon's own certificate with --fingerprint. " + howToCompare}
	}
	if !c.Yes && c.Fingerprint == "" {
		fmt.Fprintln(c.texts(env), howToCompare)
		if err := ask(env, "Trust the certificate that it shows?", "--fingerprint or --yes"); err != nil {
			return err
		}
	}
	return c.take(ctx, env, server, presented{device, trust})
}

// prove pins the certificate of a device whose record in the database was written by another program. The server does
// not contact such a device, so the fingerprint has to come from the daemon's machine.
func (c *deviceTrustCommand) prove(ctx context.Context, env *environment, server *client.Client,
	device api.Device) error {
	address := cmp.Or(device.APIAddress, "whatever address discovery finds")
	fmt.Fprintf(c.texts(env), "%s\n  record: at %s, port %d\n  %s.\n", named(device), printable(address), device.APIPort,
		fleet.AlteredReason)
	if c.Fingerprint == "" {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "the fingerprint of the daemon's own certificate is needed",
			Hint: "Give it with --fingerprint. " + howToCompare}
	}
	pin, err := fleet.ParsePin(fromOpenSSL(c.Fingerprint))
	if err != nil {
		return err
	}
	one := presented{device: device}
	one.trust.Presented.Fingerprint = pin
	return c.take(ctx, env, server, one)
}

// many pins renewed certificates only. It leaves out devices that have no pin, or whose address anybody could have
// announced: a person has to compare their fingerprints.
func (c *deviceTrustCommand) many(ctx context.Context, env *environment, server *client.Client,
	devices []api.Device) error {
	renewed, err := c.renewed(ctx, env, server, devices)
	if err != nil {
		return err
	}
	if len(renewed) == 0 {
		fmt.Fprintf(c.texts(env), "Of %s none shows another certificate that can be taken here.\n",
			counted(len(devices), "device"))
		return nil
	}
	if !c.Yes {
		fmt.Fprintln(c.texts(env), howToCompare)
		question := fmt.Sprintf("Trust what is shown for %s?", counted(len(renewed), "device"))
		if err := ask(env, question, "--fingerprint or --yes"); err != nil {
			return err
		}
	}
	var failed error
	for _, one := range renewed {
		if err := c.take(ctx, env, server, one); err != nil {
			fmt.Fprintf(env.Err, "%s: %v\n", printable(one.device.Label), err)
			failed = err
		}
	}
	return failed
}

// renewed prints the certificates of the devices that show a different one from the pinned one, and returns those that
// may be pinned together.
func (c *deviceTrustCommand) renewed(ctx context.Context, env *environment, server *client.Client,
	devices []api.Device) (renewed []presented, err error) {
	for _, device := range devices {
		trust, err := server.DeviceTrust(ctx, device.DeviceID)
		if err != nil {
			return nil, err
		}
		if trust.Altered {
			fmt.Fprintf(c.texts(env), "%s\n  Left out: %s. %s\n", named(device), fleet.AlteredReason,
				fleet.AlteredNext(fleet.DeviceID(device.DeviceID)))
			continue
		}
		if trust.Presented.Fingerprint == "" || trust.Presented.Fingerprint == trust.Pinned.Fingerprint {
			continue
		}
		one := presented{device, trust}
		printTrust(c.texts(env), one, time.Now())
		if trust.Pinned.Fingerprint == "" || onAnybodysWord(trust.Presented.FoundBy) {
			fmt.Fprintf(c.texts(env), "  Left out: this one is to be compared by itself (`muster device trust %s`).\n",
				fleet.DeviceID(device.DeviceID).Short())
			continue
		}
		renewed = append(renewed, one)
	}
	return renewed, nil
}

func (c *deviceTrustCommand) take(ctx context.Context, env *environment, server *client.Client, one presented) error {
	stored, err := server.TrustDevice(ctx, one.device.DeviceID, one.trust.Presented.Fingerprint)
	if err != nil {
		return err
	}
	return c.done(env, one.device.DeviceID, stored,
		fmt.Sprintf("%s: %s is pinned.", named(one.device), stored.Pinned.Fingerprint))
}

// printTrust prints the pinned and the shown certificate, and whether a renewal is due.
func printTrust(out io.Writer, one presented, now time.Time) {
	pinned, shown := one.trust.Pinned, one.trust.Presented
	fmt.Fprintf(out, "%s\n  pinned: %s\n", named(one.device), describeCertificate(pinned))
	if text := origins[one.trust.Origin]; text != "" {
		fmt.Fprintf(out, "    %s\n", text)
	}
	fmt.Fprintf(out, "  shown:  %s\n", describeCertificate(shown.Certificate))
	if shown.Fingerprint == "" {
		return
	}
	fmt.Fprintf(out, "    at %s, %s\n", printable(shown.Address), finders[shown.FoundBy])
	if shown.Fingerprint == pinned.Fingerprint || pinned.NotAfter == nil {
		return
	}
	left := int(pinned.NotAfter.Sub(now) / (24 * time.Hour))
	ends := fleet.Certificate{Fingerprint: pinned.Fingerprint, NotAfter: pinned.NotAfter.Time}
	if ends.EndsSoon(now) {
		fmt.Fprintf(out, "  The pinned one ends in %d days: a renewal is due.\n", left)
		return
	}
	fmt.Fprintf(out, "  The pinned one is valid for another %d days: no renewal is due. "+
		"Either https-cert.pem was removed, or somebody else answers.\n", left)
}

func named(d api.Device) string {
	return nameOf(d.DeviceID, d.Label)
}

func describeCertificate(c api.Certificate) string {
	switch {
	case c.Fingerprint == "":
		return "none"
	case c.NotBefore == nil || c.NotAfter == nil:
		return printable(c.Fingerprint)
	}
	return fmt.Sprintf("%s, valid from %s to %s",
		printable(c.Fingerprint), c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
}

// origins say how a device got its pin.
var origins = map[string]string{
	string(fleet.PinFirstUse): "trusted on first use: whether the daemon or somebody on the way answered then is not " +
		"known",
	string(fleet.PinGiven):     "given by an administrator, or by enroll on the daemon's machine",
	string(fleet.PinForgotten): "forgotten by an administrator",
}

// finders say where the address of a device comes from.
var finders = map[string]string{
	"record": "the address in its record",
	"global": "found by a discovery server",
	"local":  "announced on the local network, WHERE ANYBODY CAN ANNOUNCE ANYTHING",
	"fleet":  "said by another managed daemon, WHICH MAY LIE",
}

func onAnybodysWord(foundBy string) bool { return foundBy != "record" && foundBy != "global" }

// fromOpenSSL turns what `openssl x509 -fingerprint` prints into a pin.
func fromOpenSSL(text string) string {
	if _, after, found := strings.Cut(text, "="); found {
		text = after
	}
	if strings.HasPrefix(strings.ToLower(text), "sha256:") {
		return text
	}
	return "sha256:" + strings.ReplaceAll(text, ":", "")
}
