package cli

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/agent"
	"muster/internal/fleet"
)

type enrollCommand struct {
	connection
	asking
	Fingerprint string        `help:"Fingerprint of the server's certificate, or of its public key, as the server prints it when it starts; no other is trusted then." placeholder:"sha256:HEX"`
	Home        string        `help:"Home folder of the Syncthing daemon." default:"${syncthingHome}" env:"MUSTER_SYNCTHING_HOME" type:"path"`
	Address     string        `help:"Host name or IP by which the server reaches the daemon; without it, the one in the daemon's configuration." placeholder:"HOST"`
	Port        int           `help:"Port of the daemon's API; without it, the one in its configuration." placeholder:"PORT"`
	Label       *string       `help:"Label; without it the stored one stays, or the daemon's own name, or this machine's, is taken." placeholder:"TEXT"`
	NoPin       bool          `env:"-" help:"Do not pin the certificate of the daemon's home: a proxy in front of it shows a different one."`
	Tag         []string      `help:"Tags to attach, with commas between, or one after each --tag." placeholder:"TAG"`
	Key         string        `secret:"" help:"Enrol key, in the place of a token: the device proves itself by its own key. Better --key-file." placeholder:"KEY"`
	KeyFile     string        `help:"File with the enrol key." type:"path" placeholder:"FILE"`
	Renew       bool          `env:"-" help:"Only renew the certificate, API key and port of the registered device, which proves itself by its own key: no token is needed."`
	Wait        time.Duration `help:"How long to wait until the server has seen the daemon; 0 does not wait." default:"30s"`
}

// Run registers the daemon of the home, pins its certificate, tags it, and waits until the server has reached it.
// Where the daemon has made a new certificate, running the command again pins the new one.
func (c *enrollCommand) Run(ctx context.Context, env *environment) error {
	c.fingerprint = c.Fingerprint
	daemon, err := agent.ReadHome(c.Home)
	if err != nil {
		return err
	}
	if c.Label != nil && strings.TrimSpace(*c.Label) == "" {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the label is blank",
			Hint: "Give one, or leave --label out: the stored one stays."}
	}
	if c.Key != "" || c.Renew {
		return c.byItself(ctx, env, daemon)
	}
	for _, tag := range c.Tag {
		if _, err := fleet.ParseTag(tag); err != nil {
			return err
		}
	}
	server, err := c.client() // an error about the server comes before one about the address
	if err != nil {
		return err
	}
	server.OnWarning(func(text string) { fmt.Fprintln(env.Err, "Warning:", text) })
	body, err := c.registration(daemon)
	if err != nil {
		return err
	}
	id := string(daemon.ID)
	if body.Label == nil {
		body.Label, err = c.label(ctx, server, daemon)
	} else {
		err = c.agreedLabel(ctx, env, server, *body.Label, id)
	}
	if err != nil {
		return err
	}
	stored, created, err := c.register(ctx, env, server, daemon, body)
	if err != nil {
		return err
	}
	for _, tag := range c.Tag {
		if _, err := server.TagDevice(ctx, id, tag); err != nil {
			return err
		}
	}
	what := "Updated"
	if created {
		what = "Registered"
	}
	fmt.Fprintf(env.Out, "%s %q, %s, at %s:%d\n", what, stored.Label, stored.DeviceID, stored.APIAddress, stored.APIPort)
	if c.Wait <= 0 {
		return nil
	}
	return waitOnline(ctx, env, server, id, c.Wait)
}

// register sends the record, and prints what becomes of the pin.
func (c *enrollCommand) register(
	ctx context.Context, env *environment, server *client.Client, daemon *agent.Home, body api.PutDevice,
) (stored api.Device, created bool, err error) {
	id := string(daemon.ID)
	if c.NoPin {
		return server.PutDevice(ctx, id, body)
	}
	if daemon.Pin == "" {
		fmt.Fprintln(env.Err, "The daemon has no https-cert.pem yet: unless a certificate is pinned already, the first "+
			"one that is "+
			"shown at its address is trusted.")
		return server.PutDevice(ctx, id, body)
	}
	before, err := server.DeviceTrust(ctx, id)
	if err != nil && fleet.CodeOf(err) != fleet.CodeNotFound { // a new device has no trust yet
		return api.Device{}, false, err
	}
	stored, created, err = server.PutPinnedDevice(ctx, id, body, daemon.Pin)
	if err == nil && before.Pinned.Fingerprint != "" && before.Pinned.Fingerprint != daemon.Pin {
		fmt.Fprintf(env.Out, "Pinned its certificate %s, in place of %s\n", daemon.Pin, printable(before.Pinned.Fingerprint))
	}
	return stored, created, err
}

// registration is the record to send. An address that the server cannot reach is refused here, where the person can
// still correct it.
func (c *enrollCommand) registration(daemon *agent.Home) (api.PutDevice, error) {
	key, host, port := daemon.APIKey.Reveal(), c.Address, int64(daemon.Port)
	if err := c.usable(daemon); err != nil {
		return api.PutDevice{}, err
	}
	if c.Port != 0 {
		port = int64(c.Port)
	}
	if host == "" {
		var err error
		if host, err = c.host(daemon); err != nil {
			return api.PutDevice{}, err
		}
	}
	return api.PutDevice{APIKey: &key, APIPort: &port, APIAddress: &host, Label: c.Label}, nil
}

// usable is an error about a daemon whose API cannot be used, or not be reached as the flags say.
func (c *enrollCommand) usable(daemon *agent.Home) error {
	switch {
	case !daemon.Enabled:
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the daemon's API is switched off",
			Hint: `Set enabled="true" at <gui> in the daemon's config.xml and restart it.`}
	case daemon.APIKey.IsZero():
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the daemon has no API key",
			Hint: "Start it once: it then makes one. Or make one under Actions > Settings > GUI."}
	case daemon.Socket != "" && (c.Address == "" || c.Port == 0):
		return &fleet.Error{Code: fleet.CodeInvalid,
			Message: "the daemon's API listens on the unix socket " + daemon.Socket,
			Hint:    "Say how the server reaches it: --address HOST and --port PORT; or let `muster agent` reach it."}
	}
	return nil
}

// host is where the server reaches the daemon: on this machine's loopback when the server runs here too.
func (c *enrollCommand) host(daemon *agent.Home) (string, error) {
	ip, err := netip.ParseAddr(daemon.Host)
	everywhere := daemon.Host == "" || err == nil && ip.IsUnspecified()
	at, err := c.resolved()
	if err != nil {
		return "", err
	}
	here := serverIsHere(at.address)
	switch {
	case everywhere && here:
		return "127.0.0.1", nil
	case !everywhere && (here || !isLoopbackHost(daemon.Host)):
		return daemon.Host, nil
	}
	why := "the daemon's API listens on every address of this machine, and the server runs elsewhere"
	if !everywhere {
		why = fmt.Sprintf("the daemon's API listens on %s only, where a server elsewhere cannot reach it", daemon.Host)
	}
	return "", &fleet.Error{Code: fleet.CodeInvalid, Message: why, Hint: "Say how the server reaches it: --address HOST."}
}

func serverIsHere(server string) bool {
	address, err := url.Parse(server)
	return err == nil && isLoopbackHost(address.Hostname())
}

func isLoopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// label is the stored one where the device is registered already, else the daemon's own name, else this machine's,
// with a number where another device has it.
func (c *enrollCommand) label(ctx context.Context, server *client.Client, daemon *agent.Home) (*string, error) {
	stored, err := server.Device(ctx, string(daemon.ID))
	switch {
	case err == nil:
		return &stored.Label, nil
	case fleet.CodeOf(err) != fleet.CodeNotFound:
		return nil, err
	}
	free, err := freeLabel(ctx, server, nameOfDaemon(daemon))
	return &free, err
}

// nameOfDaemon is the daemon's own name, else this machine's.
func nameOfDaemon(daemon *agent.Home) string {
	if daemon.Name != "" {
		return daemon.Name
	}
	name, err := os.Hostname()
	if err != nil {
		return daemon.ID.Short()
	}
	return name
}

// waitOnline waits until the server has reached the daemon, and prints the state of the device meanwhile.
func waitOnline(ctx context.Context, env *environment, server *client.Client, id string, most time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	var last api.DeviceState
	printed := ""
	for {
		state, err := server.DeviceState(waiting, id)
		switch {
		case err != nil && waiting.Err() == nil:
			return err
		case err == nil && state.Connection == string(fleet.Online):
			fmt.Fprintf(env.Out, "Online: configuration %s\n", state.Configuration)
			return nil
		case err == nil:
			// The first state is often from before the registration, so a reason is printed when it is seen twice.
			if state.Reason == last.Reason && state.Reason != printed {
				fmt.Fprintf(env.Err, "%s: %s\n", state.Connection, state.Reason)
				printed = state.Reason
			}
			last = state
		}
		select {
		case <-again.C:
		case <-waiting.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return notOnline(last, most)
		}
	}
}

func notOnline(last api.DeviceState, after time.Duration) error {
	message := fmt.Sprintf("the daemon is registered, but not online after %v", after)
	if last.Reason != "" {
		message += ": " + last.Reason
	}
	hint := last.Next
	if hint == "" {
		hint = "`muster status` says a little later what is in the way."
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: message, Hint: hint}
}
