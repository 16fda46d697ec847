package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"muster/internal/app"
	"muster/internal/fleet"
	"muster/internal/notify"
	"muster/internal/sandbox"
)

type serveCommand struct {
	Home                string        `help:"Folder for the database, keys and tokens." default:"${home}" type:"path"`
	Listen              string        `help:"Address of the API." default:"127.0.0.1:2525" placeholder:"HOST:PORT"`
	Database            string        `help:"postgres://… instead of the SQLite database in --home." placeholder:"URL"`
	Configurator        string        `help:"Whether daemons are written to: on or observe." default:"on" enum:"on,observe"`
	DiscoveryServer     []string      `help:"Discovery server for devices without an address; none switches discovery off." placeholder:"URL"`
	DiscoveryAllowLocal bool          `help:"Believe discovered loopback and link-local addresses (one host, tests)."`
	BlastLimit          string        `help:"Changes that touch more devices than this, N or N%, wait for a person's consent." placeholder:"N|N%"`
	Soak                time.Duration `help:"How long each wave of a rollout is watched before the next; less for simulated daemons unless given." placeholder:"30s"`
	KeepRevisions       int           `help:"Configurations kept of each device." default:"100"`
	KeepFor             time.Duration `help:"How long a configuration is kept after another took its place." default:"8760h"`
	NotifyURL           []string      `name:"notify-url" sep:" " help:"Webhook that is told of problems by HTTP POST; may be given several times, in the variable with spaces between." placeholder:"URL"`
	NotifySecret        string        `help:"Signs what webhooks get: a text, or whsec_ and base64." placeholder:"TEXT"`
	NotifyAfter         time.Duration `help:"How long a problem stays before anybody is told." default:"10m"`
	NotifyMailTo        []string      `help:"Mail address that is told of problems; may be given several times." placeholder:"ADDRESS"`
	NotifyMailFrom      string        `help:"Address that the mail comes from." placeholder:"ADDRESS"`
	SMTP                string        `name:"smtp" help:"Mail server; port 587 unless given." placeholder:"HOST:PORT"`
	SMTPUser            string        `name:"smtp-user" help:"User to log in as at the mail server."`
	SMTPPassword        string        `name:"smtp-password" help:"Password of that user."`
	SMTPTLS             string        `name:"smtp-tls" help:"auto: TLS on port 465, STARTTLS on any other; starttls; tls; none: in clear text." default:"auto" enum:"auto,starttls,tls,none"`
	TLS                 string        `name:"tls" help:"auto: plain HTTP on loopback, a generated certificate elsewhere; off: plain HTTP behind a proxy." default:"auto" enum:"auto,off"`
	TLSCert             string        `name:"tls-cert" help:"Certificate (PEM) to serve with." type:"existingfile"`
	TLSKey              string        `name:"tls-key" help:"Its key (PEM)." type:"existingfile"`
	AllowHost           []string      `help:"Further names that clients may address this server by." placeholder:"NAME"`
	SealKey             string        `help:"Key that seals credentials at rest, 64 hex digits, instead of the one in --home." placeholder:"HEX"`
	Demo                int           `help:"Also start N simulated daemons and manage them; use an empty --home." placeholder:"N"`
	LogLevel            string        `help:"debug, info, warn or error." default:"info" enum:"debug,info,warn,error"`
}

// Run starts the server and blocks until ctx ends or a part of the server fails.
func (c *serveCommand) Run(ctx context.Context, env *environment) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return err
	}
	if c.Demo > 0 && c.Home == defaultHome() {
		c.Home = "" // the demo must not mix with a real fleet: it gets a folder that goes with it
	}
	server, err := app.New(ctx, app.Options{
		Home: c.Home, Listen: c.Listen, Database: c.Database, Configurator: fleet.Mode(c.Configurator),
		DiscoveryServers: c.DiscoveryServer, DiscoveryAllowLocal: c.DiscoveryAllowLocal,
		BlastLimit: c.BlastLimit, Soak: c.Soak, KeepRevisions: c.KeepRevisions, KeepFor: c.KeepFor,
		Notify: app.NotifyOptions{
			URLs: c.NotifyURL, Secret: fleet.NewSecret(c.NotifySecret), After: c.NotifyAfter,
			MailTo: c.NotifyMailTo, MailFrom: c.NotifyMailFrom, SMTP: c.SMTP, SMTPUser: c.SMTPUser,
			SMTPPassword: fleet.NewSecret(c.SMTPPassword), SMTPTLS: notify.MailTLS(c.SMTPTLS),
		},
		TLSOff: c.TLS == "off", TLSCert: c.TLSCert, TLSKey: c.TLSKey, AllowHosts: c.AllowHost,
		SealKey: fleet.NewSecret(c.SealKey), Demo: c.Demo,
		Worker: []string{executable, "worker"}, Version: env.version,
		Log: slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: level})), Out: env.Out,
	})
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

type workerCommand struct{}

// Run evaluates templates until its input ends.
func (workerCommand) Run(env *environment) error { return sandbox.Serve(env.In, env.Out) }

// defaultHome is where a server keeps its data unless told otherwise, and where client commands look for its token.
func defaultHome() string {
	user, err := os.UserHomeDir()
	if err != nil {
		return ".muster"
	}
	return filepath.Join(envOr("XDG_DATA_HOME", filepath.Join(user, ".local/share")), "muster")
}
