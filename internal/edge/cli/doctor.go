package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

const (
	leastDisk      = 1 << 30 // free bytes, for a database that grows and its backups
	mostClockDrift = time.Minute
	leastDays      = 30 // days until a certificate ends
	oldBackup      = 8 * 24 * time.Hour
)

type doctorCommand struct {
	connection
	output
	Device string `arg:"" optional:"" help:"Label or ID of a device to look at as well, or the first letters of its ID."`
}

// finding is the result of one check.
type finding struct {
	Part string `json:"part"`
	OK   bool   `json:"ok"`
	What string `json:"what"`
	Next string `json:"next"` // the next step for a person; "" when all is well
}

// Run prints one line for each check, and what to do where something is wrong.
func (c *doctorCommand) Run(ctx context.Context, env *environment) error {
	found := c.ofMachine()
	server, reached, err := c.ofServer(ctx)
	if err != nil {
		return err
	}
	found = append(found, reached...)
	if server != nil && c.Device != "" {
		device, err := deviceNamed(ctx, server, c.Device)
		if err != nil {
			return err
		}
		about, err := ofDevice(ctx, server, device)
		if err != nil {
			return err
		}
		found = append(found, about...)
	}
	sick := wrong(found)
	if !c.forPeople() {
		if err := c.print(env, found, sick...); err != nil {
			return err
		}
		found = nil
	}
	for _, f := range found {
		mark := "ok   "
		if !f.OK {
			mark = "WRONG"
		}
		fmt.Fprintf(env.Out, "%s  %-12s %s\n", mark, f.Part, printable(f.What))
		if f.Next != "" {
			fmt.Fprintf(env.Out, "       %-12s -> %s\n", "", printable(f.Next))
		}
	}
	switch {
	case server == nil:
		return exitCode(exitUnreachable)
	case len(sick) > 0:
		return exitCode(exitFailed)
	}
	return nil
}

// wrong are the parts in which something is wrong.
func wrong(found []finding) (parts []string) {
	for _, f := range found {
		if !f.OK {
			parts = append(parts, f.Part)
		}
	}
	return parts
}

// ofMachine checks the home of a server on this machine, if this user may read one.
func (c *doctorCommand) ofMachine() []finding {
	at, err := c.resolved()
	if err != nil {
		return nil
	}
	home := at.home
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.MusterHome == "":
		return nil // the server is on another machine
	case err != nil:
		return []finding{{"home", false, fmt.Sprintf("%s is not readable: %v", home, err),
			"Run it as the user that runs the server, or give --muster-home with its home."}}
	case !info.IsDir():
		return []finding{{"home", false, home + " is no folder", "Give --muster-home with the server's home."}}
	}
	return append(ofPermissions(home, info), ofDisk(home)...)
}

// ofPermissions checks that others can read nothing of what the server keeps.
func ofPermissions(home string, info fs.FileInfo) []finding {
	if open := info.Mode().Perm() & 0o077; open != 0 && !windows {
		return []finding{{"permissions", false, fmt.Sprintf("others can enter %s (%v)", home, info.Mode().Perm()),
			"chmod 700 " + quoted(home)}}
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return []finding{{"permissions", false, fmt.Sprintf("%s is not readable: %v", home, err),
			"Run it as the user that runs the server."}}
	}
	for _, entry := range entries {
		about, err := entry.Info()
		if err == nil && about.Mode().IsRegular() && about.Mode().Perm()&0o077 != 0 && !windows {
			path := filepath.Join(home, entry.Name())
			return []finding{{"permissions", false, fmt.Sprintf("others can read %s (%v)", path, about.Mode().Perm()),
				"chmod 600 " + quoted(path)}}
		}
	}
	return []finding{{"permissions", true, "only their owner reads the files in " + home, ""}}
}

func ofDisk(home string) []finding {
	free, known := freeBytes(home)
	if !known {
		return nil
	}
	return []finding{ofFree(home, free)}
}

func ofFree(home string, free uint64) finding {
	text := fmt.Sprintf("%d MiB are free below %s", free>>20, home)
	if free < leastDisk {
		return finding{"disk", false, text, "Make room: a server that cannot write stops changing daemons. `muster " +
			"backup FILE` to another disk, and remove old backups."}
	}
	return finding{"disk", true, text, ""}
}

// ofServer asks the server how it is. The server is nil when it cannot be asked.
func (c *doctorCommand) ofServer(ctx context.Context) (*client.Client, []finding, error) {
	server, err := c.client()
	if err != nil {
		return nil, nil, err
	}
	at, err := c.resolved()
	if err != nil {
		return nil, nil, err
	}
	if err := server.Healthy(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, []finding{{"server", false, fleet.Reason(err), hintOf(err)}}, nil
	}
	found := []finding{{"server", true, "answers at " + at.address, ""}}
	found = append(found, c.ofClock(ctx, at)...)
	overview, err := server.Overview(ctx)
	if err != nil {
		return nil, append(found, finding{"log-in", false, fleet.Reason(err), hintOf(err)}), nil
	}
	return server, append(found, ofOverview(overview, time.Now())...), nil
}

func hintOf(err error) string {
	var answer *client.Error
	var e *fleet.Error
	if !errors.As(err, &e) {
		return ""
	}
	errors.As(err, &answer)
	return hintFor(e, answer)
}

// ofClock compares the clocks of server and this machine.
func (c *doctorCommand) ofClock(ctx context.Context, at target) []finding {
	over, err := at.transport()
	if err != nil {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.address+"/healthz", nil)
	if err != nil {
		return nil
	}
	answer, err := (&http.Client{Timeout: callLimit, Transport: over}).Do(r)
	if err != nil {
		return nil
	}
	_ = answer.Body.Close()
	told, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return nil
	}
	if apart := time.Since(told).Abs(); apart > mostClockDrift {
		return []finding{{"clock", false, fmt.Sprintf("the server's clock is %s apart from this machine's",
			apart.Round(time.Second)), "Set the wrong one, and have it kept by NTP: certificates and " +
			"log-ins depend on it."}}
	}
	return []finding{{"clock", true, "the server's clock is that of this machine", ""}}
}

// ofOverview lists what the server itself reports as wrong, and the parts that work.
func ofOverview(o api.Overview, now time.Time) (found []finding) {
	wrong := map[string]bool{}
	for _, i := range o.Impairments {
		wrong[i.Part] = true
		found = append(found, finding{i.Part, false, i.Reason, i.Next})
	}
	if !wrong[string(fleet.PartDatabase)] {
		found = append(found, finding{string(fleet.PartDatabase), true, "works", ""})
	}
	found = append(found, ofDiscovery(o.Connections))
	if o.Certificate != nil && !wrong[string(fleet.PartCertificate)] {
		found = append(found, ofCertificate(*o.Certificate))
	}
	found = append(found, ofBackup(o.Backup, now))
	if o.Restored != nil {
		found = append(found, finding{"restore", false, "nothing is written since the restore from a backup",
			"`muster status` says what would change; an admin types `muster resume`."})
	}
	for _, r := range o.Receivers {
		if r.Trouble != "" {
			found = append(found, finding{"notify", false, r.Name + " is not told of problems: " + r.Trouble,
				"Mend the receiver; docs/notifications.md has how it is called."})
		}
	}
	return found
}

// ofDiscovery counts the devices that the server does not find.
func ofDiscovery(connections map[string]int) finding {
	lost := connections[string(fleet.NotFound)] + connections[string(fleet.Unconfirmed)]
	if lost == 0 {
		return finding{"discovery", true, "every device that is looked for was found", ""}
	}
	return finding{"discovery", false, counted(lost, "device") + " not found, or not confirmed", "`muster device " +
		"list --state notFound --state unconfirmed` lists them. Give them an address with `muster device edit " +
		"DEVICE`, or see whether the discovery servers can be reached from the server."}
}

func ofCertificate(c api.OverviewOfCertificate) finding {
	text := fmt.Sprintf("lasts %d more days", c.Days)
	if c.Stale || c.Days < leastDays {
		return finding{"certificate", false, text, "Renew it: put the new files in the place of those of " +
			"--tls-cert and --tls-key."}
	}
	return finding{"certificate", true, text, ""}
}

func ofBackup(b *api.OverviewOfBackup, now time.Time) finding {
	const how = "If the server was not told what backups are encrypted to, start it with --backup-recipient age1… " +
		"or --backup-passphrase-file FILE. Then type `muster setting set backupTo DIR`, and after that " +
		"`muster setting set backupEvery 24h`; docs/backup.md says how."
	switch {
	case b == nil:
		return finding{"backup", false, "the server makes no backups: no time for them is set", how}
	case b.Trouble != "":
		return finding{"backup", false, "the last attempt failed: " + b.Trouble,
			"Look at the server's log, and at the folder."}
	case b.LastAt == nil:
		return finding{"backup", true, "the first one is not due yet", ""}
	case now.Sub(b.LastAt.Time) > oldBackup:
		return finding{"backup", false, "the newest is of " + b.LastAt.String(), "Look at the server's log."}
	}
	return finding{"backup", true, "the newest is of " + b.LastAt.String(), ""}
}

// ofDevice checks the state of one device, and how long its certificate lasts.
func ofDevice(ctx context.Context, server *client.Client, device api.Device) ([]finding, error) {
	state, err := server.DeviceState(ctx, device.DeviceID)
	if err != nil {
		return nil, err
	}
	found := []finding{{"device", well(state), fmt.Sprintf("%s is %s, %s: %s", named(device), state.Connection,
		state.Configuration, state.Reason), state.Next}}
	trust, err := server.DeviceTrust(ctx, device.DeviceID)
	if err != nil {
		return nil, err
	}
	pinned := trust.Pinned
	if pinned.NotAfter == nil {
		return found, nil
	}
	ends := fleet.Certificate{Fingerprint: pinned.Fingerprint, NotAfter: pinned.NotAfter.Time}
	text := "its certificate lasts until " + pinned.NotAfter.Format(time.DateOnly)
	if ends.EndsSoon(time.Now()) {
		return append(found, finding{"device", false, text, "The daemon makes a new one soon. Then compare and take " +
			"it: `muster device trust " + fleet.DeviceID(device.DeviceID).Short() + "`."}), nil
	}
	return append(found, finding{"device", true, text, ""}), nil
}
