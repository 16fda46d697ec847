package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"muster/internal/adapter/agent"
	"muster/internal/fleet"
)

const (
	agentUnit = "muster-agent.service"
	// unitMark is in every unit that install wrote: others are left alone.
	unitMark = "# Written by `muster agent install`; `muster agent uninstall` removes it."
)

type agentInstallCommand struct {
	agentFlags
	System bool `help:"A service of the machine, which runs as the owner of the Syncthing home; needs root."`
	Print  bool `help:"Print the service, and change nothing."`
}

// Run writes the systemd unit and starts it. On macOS and Windows it prints what to type instead.
func (c *agentInstallCommand) Run(ctx context.Context, env *environment) error {
	service, err := c.service(env)
	if err != nil {
		return err
	}
	switch runtime.GOOS {
	case "darwin":
		fmt.Fprintf(env.Out, launchdText, launchdPlist(service.printed()))
		return nil
	case "windows":
		fmt.Fprintf(env.Out, windowsText, windowsTask(service.printed()))
		return nil
	}
	text, err := service.systemd()
	if err != nil {
		return err
	}
	if c.Print {
		_, err := fmt.Fprint(env.Out, text)
		return err
	}
	path := unitPath(c.System)
	if err := replaceable(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return notWritten(path, err)
	}
	fmt.Fprintf(env.Out, "Wrote %s\n", path)
	if !c.System {
		fmt.Fprintln(
			env.Out,
			"It runs while you are logged in; `loginctl enable-linger` has it run from the start of the machine.",
		)
	}
	return systemctl(ctx, env, c.System, "daemon-reload", "enable "+agentUnit, "restart "+agentUnit)
}

// service is the command to run and its user. Wrong flags are refused here, before the service would fail with them.
func (c *agentInstallCommand) service(env *environment) (agentService, error) {
	o, err := c.options(env)
	if err != nil {
		return agentService{}, err
	}
	if c.Key != "" && c.KeyFile == "" {
		return agentService{}, &fleet.Error{Code: fleet.CodeInvalid,
			Message: "a service is not given a key in its command line",
			Hint:    "Put the key into a file that only its owner can read, and give --key-file FILE."}
	}
	if _, err := agent.New(o); err != nil {
		return agentService{}, err
	}
	executable, err := os.Executable()
	if err != nil {
		return agentService{}, err
	}
	command := []string{executable, "agent", "run", "--server", c.Server, "--home", c.Home}
	for _, fingerprint := range c.Fingerprint {
		command = append(command, "--fingerprint", fingerprint)
	}
	if c.CA != "" {
		command = append(command, "--ca", c.CA)
	}
	if c.Observe {
		command = append(command, "--observe")
	}
	if len(c.Allow) > 0 {
		command = append(command, "--allow", strings.Join(c.Allow, ","))
	}
	s := agentService{command: command, home: c.Home, ca: c.CA, keyFile: c.KeyFile, system: c.System}
	if c.System {
		s.user, err = ownerOf(c.Home)
	}
	return s, err
}

type agentUninstallCommand struct {
	System bool `help:"The service of the machine; needs root."`
}

// Run stops the service and removes its unit. The daemon and its home stay as they are.
func (c *agentUninstallCommand) Run(ctx context.Context, env *environment) error {
	path := unitPath(c.System)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &fleet.Error{Code: fleet.CodeNotFound, Message: "there is no service: " + path + " does not exist",
			Hint: "Without --system it is the service of this user, with --system that of the machine."}
	}
	if err := replaceable(path); err != nil {
		return err
	}
	stopped := systemctl(ctx, env, c.System, "disable --now "+agentUnit)
	if err := os.Remove(path); err != nil {
		return notWritten(path, err)
	}
	fmt.Fprintf(env.Out, "Removed %s\n", path)
	return errors.Join(stopped, systemctl(ctx, env, c.System, "daemon-reload"))
}

func unitPath(system bool) string {
	if system {
		return filepath.Join("/etc/systemd/system", agentUnit)
	}
	user, err := os.UserHomeDir()
	if err != nil {
		user = "."
	}
	return filepath.Join(envOr("XDG_CONFIG_HOME", filepath.Join(user, ".config")), "systemd/user", agentUnit)
}

// replaceable reports whether a unit is absent, or one that install wrote.
func replaceable(path string) error {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && bytes.HasPrefix(text, []byte(unitMark)):
		return nil
	case err != nil:
		return err
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: path + " was not written by `muster agent install`",
		Hint: "Move it away first; `muster agent install --print` shows what would be written."}
}

func notWritten(path string, err error) error {
	return &fleet.Error{Code: fleet.CodeForbidden, Message: "cannot change " + path, Err: err,
		Hint: "A service of the machine needs root; without --system it is one of this user."}
}

// systemctl runs commands of the service manager. Where one fails, the person is told what to type.
func systemctl(ctx context.Context, env *environment, system bool, lines ...string) error {
	for _, line := range lines {
		args := strings.Fields(line)
		if !system {
			args = append([]string{"--user"}, args...)
		}
		run := exec.CommandContext(ctx, "systemctl", args...)
		run.Stdout, run.Stderr = env.Out, env.Err
		if err := run.Run(); err != nil {
			return &fleet.Error{Code: fleet.CodeUnavailable, Err: err,
				Message: "systemctl " + strings.Join(args, " ") + " failed",
				Hint:    "Type it where systemd runs; --print shows the service for another service manager."}
		}
	}
	return nil
}
