package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type deviceRevocationCommand struct {
	connection
	output
	Device string `arg:"" help:"Label or ID of a revoked device, or the first letters of its ID."`
	Wait   bool   `env:"-" help:"Wait until the device is proven to be gone from all managed devices. Ctrl-C ends the waiting."`
}

// Help says what the certificate is for.
func (deviceRevocationCommand) Help() string {
	return "The text can be given to an auditor. The exit code is 3 while the device is not proven to be gone from all " +
		"managed devices."
}

// Run prints the certificate of a revocation.
func (c *deviceRevocationCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	revoked, err := revocationNamed(ctx, server, c.Device)
	if err != nil {
		return err
	}
	certificate, err := c.certificate(ctx, env, server, revoked.DeviceID)
	if err != nil {
		return err
	}
	proofs, err := server.RevocationProofs(ctx, revoked.DeviceID, "", client.List{Page: pageOfProofs})
	if err != nil {
		return err
	}
	if !c.forPeople() {
		err = c.print(env, wholeCertificate{certificate, proofs}, certificate.DeviceID)
	} else {
		err = printCertificate(env, c.output, certificate, proofs)
	}
	if err != nil {
		return err
	}
	return waits(!certificate.Complete)
}

const pageOfProofs = 1000 // devices in one answer

// wholeCertificate is a certificate with what it says of each device.
type wholeCertificate struct {
	api.RevocationCertificate
	Proofs []api.RevocationProof `json:"proofs"`
}

// certificate returns the certificate at once, or when it is complete.
func (c *deviceRevocationCommand) certificate(ctx context.Context, env *environment, server *client.Client,
	id string) (api.RevocationCertificate, error) {
	bar := env.newProgress()
	defer bar.end()
	for {
		now, err := server.RevocationCertificate(ctx, id)
		if err != nil || !c.Wait || now.Complete || now.Devices == 0 {
			return now, err
		}
		bar.at(int64(now.Gone), int64(now.Devices), fmt.Sprintf("gone from %s of %s", fleet.NumberText(now.Gone),
			counted(now.Devices, "managed device")))
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

func printCertificate(env *environment, how output, c api.RevocationCertificate, proofs []api.RevocationProof) error {
	name := nameOf(c.DeviceID, c.Label)
	fmt.Fprintf(env.Out, "Revocation of %s\n\n", name)
	fmt.Fprintf(env.Out, "  Device ID    %s\n  Revoked      %s by %s\n  Reason       %s\n  As of        %s\n", c.DeviceID,
		c.RevokedAt, printable(c.RevokedBy), printable(orDash(c.Reason)), c.At)
	fmt.Fprintf(env.Out, "  Proven gone  %d %%, from %d of %s\n", c.Percent, c.Gone, counted(c.Devices, "managed device"))
	if c.Since != nil {
		fmt.Fprintf(env.Out, "  Since        %s\n", c.Since)
	}
	fmt.Fprintln(env.Out)
	if len(proofs) > 0 {
		if err := printList(env, how, proofColumns, proofs); err != nil {
			return err
		}
		fmt.Fprintln(env.Out)
	}
	printUnmanaged(env.Out, c)
	printKnew(env.Out, c.Knew)
	for _, text := range c.Says {
		fmt.Fprintln(env.Out, text)
	}
	return nil
}

var proofColumns = columns[api.RevocationProof]{
	titles: []string{"DEVICE", "ID", "STATE", "CONFIGURATION READ", "CONNECTIONS READ", "RETURNS", "WHY"},
	name:   func(p api.RevocationProof) string { return nameOf(p.DeviceID, p.Label) },
	row: func(p api.RevocationProof) []string {
		return []string{nameOf(p.DeviceID, p.Label), p.DeviceID, p.State, timeOrDash(p.ConfigAt), timeOrDash(p.ConnectionsAt),
			fmt.Sprint(p.Returns), orDash(p.Reason)}
	},
}

func timeOrDash(at *api.Time) string {
	if at == nil {
		return "-"
	}
	return at.String()
}

func printUnmanaged(out io.Writer, c api.RevocationCertificate) {
	if len(c.Unmanaged) == 0 {
		return
	}
	fmt.Fprintln(out, "Cannot be known, because Muster does not manage these devices:")
	for _, u := range c.Unmanaged {
		fmt.Fprintf(out, "  %s, in the configuration of %s\n", u.DeviceID, counted(u.KnownBy, "managed device"))
	}
	if c.MoreUnmanaged > 0 {
		fmt.Fprintf(out, "  and %d more\n", c.MoreUnmanaged)
	}
	fmt.Fprintln(out)
}

func printKnew(out io.Writer, k api.RevokedKnew) {
	if len(k.Passwords)+len(k.SameKey)+len(k.Secrets) == 0 {
		return
	}
	fmt.Fprintln(out, "The device knew these passwords and keys. Change them:")
	for _, p := range k.Passwords {
		fmt.Fprintf(out, "  the encryption password of folder %s for device %s\n",
			printable(cmp.Or(p.Label, p.Folder)), p.With)
	}
	for _, d := range k.SameKey {
		fmt.Fprintf(out, "  the API key of %s, which is the same\n", nameOf(d.DeviceID, d.Label))
	}
	for _, name := range k.Secrets {
		fmt.Fprintf(out, "  the secret %s, which templates of the device name\n", printable(name))
	}
	fmt.Fprintln(out)
}
