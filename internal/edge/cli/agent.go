package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"muster/internal/adapter/agent"
	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

type agentCommand struct {
	Run       agentRunCommand       `cmd:"" default:"withargs" help:"Run the agent until it is stopped; this is what muster agent does."`
	Status    agentStatusCommand    `cmd:"" help:"Show to whom the agents of this machine are connected, and what was changed through them."`
	Install   agentInstallCommand   `cmd:"" help:"Have the system run the agent: as a service of this user, or with --system of the machine."`
	Uninstall agentUninstallCommand `cmd:"" help:"Stop the service that install made, and remove it."`
}

// agentFlags are the settings of an agent, whether a person or a service starts it.
type agentFlags struct {
	Server      string   `help:"Address of the server, as it prints it when it starts; without a port, 2525." placeholder:"URL"`
	Home        string   `help:"Home folder of the Syncthing daemon." default:"${syncthingHome}" env:"MUSTER_SYNCTHING_HOME" type:"path"`
	Fingerprint []string `help:"Fingerprint of the server's certificate, or of its public key, as the server prints it when it starts; may be given several times." placeholder:"sha256:HEX"`
	CA          string   `name:"ca" help:"File with the certificate (PEM) of the authority that signed the server's certificate, instead of the system's authorities." type:"path" placeholder:"FILE"`
	Key         string   `secret:"" help:"Enrol key, with which the server accepts this device at once. Prefer --key-file." placeholder:"KEY"`
	KeyFile     string   `help:"File with the enrol key." type:"path" placeholder:"FILE"`
	Observe     bool     `help:"Let the server read from the daemon, and change nothing, whatever it asks."`
	Allow       []string `help:"Let the server do what changes files, not only the configuration: override (a device's folder overrules the others), revert (undo local changes of a receive-only folder), versions (put an older version of a file back). Comma-separated." enum:"override,revert,versions" placeholder:"WHAT"`
	LogLevel    string   `help:"debug, info, warn or error." default:"info" enum:"debug,info,warn,error"`
}

func (f *agentFlags) options(env *environment) (agent.Options, error) {
	if f.Server == "" {
		return agent.Options{}, &fleet.Error{Code: fleet.CodeInvalid, Message: "--server is missing",
			Hint: "`muster serve` prints the line to type on other machines when it starts: " +
				"muster agent --server https://… --fingerprint sha256:…"}
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		return agent.Options{}, err
	}
	return agent.Options{Server: f.Server, Home: f.Home, CA: f.CA, Fingerprints: f.Fingerprint,
		Key: fleet.NewSecret(f.Key), KeyFile: f.KeyFile, Observe: f.Observe, Allow: f.Allow, Version: env.build.String(),
		Log: slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: level}))}, nil
}

type agentRunCommand struct {
	agentFlags
}

// Run connects the daemon with the server until ctx ends.
func (c *agentRunCommand) Run(ctx context.Context, env *environment) error {
	o, err := c.options(env)
	if err != nil {
		return err
	}
	a, err := agent.New(o)
	if err != nil {
		return err
	}
	switch release, err := a.HoldHome(); {
	case fleet.CodeOf(err) == fleet.CodeConflict:
		return err
	case err != nil:
		o.Log.Warn("nothing keeps a second agent away from this daemon", logkey.Err(err))
	default:
		defer func() { _ = release() }()
	}
	dir := agent.RuntimeDir()
	socket, err := a.Listen(dir)
	var told *fleet.Error
	switch {
	case errors.As(err, &told):
		return err
	case err != nil:
		o.Log.Warn("the status of this agent cannot be asked", logkey.Err(err))
	default:
		go a.Tell(ctx, socket)
	}
	if err := a.Confine(dir); err != nil {
		o.Log.Warn("the agent may open more files than it needs", logkey.Err(err))
	}
	r := a.Report()
	fmt.Fprintf(env.Out, "Agent of %q, %s, for %s\n", r.Name, r.Device, r.Server)
	if others := agent.OtherHomes(c.Home); len(others) > 0 {
		o.Log.Warn("there is more than one Syncthing home: is this the one of the daemon that runs?", logkey.Path, c.Home,
			logkey.Next, "If not, give --home DIR: "+strings.Join(others, ", "))
	}
	if err := a.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

type agentStatusCommand struct{}

// Run prints the state of each agent. It fails when one of them is not connected, not accepted or without a daemon.
func (c *agentStatusCommand) Run(env *environment) error {
	all := agent.Reports()
	if len(all) == 0 {
		return &fleet.Error{Code: fleet.CodeNotFound, Message: "no agent of this user runs on this machine",
			Hint: "`muster agent --server https://…` starts one; `muster agent install --server https://…` has the system " +
				"run it. That of another user is shown to that user: `sudo -u USER muster agent status`."}
	}
	useful := true
	for _, r := range all {
		printAgent(env, r)
		useful = useful && r.Connected && r.State == tunnel.Accepted && r.Daemon == ""
	}
	if !useful {
		return errors.New("not every agent is connected and accepted, with a daemon that answers")
	}
	return nil
}

func printAgent(env *environment, r agent.Report) {
	fmt.Fprintf(env.Out, "%s (%s), process %d, home %s\n", printable(r.Name), r.Device.Short(), r.PID, printable(r.Home))
	if r.Observe {
		fmt.Fprintln(env.Out, "  The server may read, and change nothing (--observe).")
	}
	at := r.Since.Local().Format(time.DateTime)
	if !r.Connected {
		fmt.Fprintf(env.Out, "  Not connected to %s since %s: %s\n", r.Server, at, printable(r.Trouble))
	} else {
		state := r.State
		if state == "" {
			state = "the server has not told yet how it stands with this device"
		}
		fmt.Fprintf(env.Out, "  Connected to %s since %s: %s\n", r.Server, at, printable(string(state)))
	}
	for _, text := range []string{r.Message, r.Hint} {
		if text != "" {
			fmt.Fprintf(env.Out, "  %s\n", printable(text))
		}
	}
	if r.Daemon != "" {
		fmt.Fprintf(env.Out, "  Its Syncthing did not answer the last request: %s. Check that it runs.\n",
			printable(r.Daemon))
	}
	if len(r.Changes) == 0 {
		fmt.Fprintln(env.Out, "  The server has changed nothing since the agent started.")
		return
	}
	fmt.Fprintln(env.Out, "  The last requests that changed something:")
	for _, change := range r.Changes {
		answer := "no answer"
		if change.Status != 0 {
			answer = fmt.Sprint(change.Status)
		}
		fmt.Fprintf(env.Out, "    %s  %s %s: %s\n", change.At.Local().Format(time.DateTime), change.Method,
			printable(change.Path), answer)
	}
}
