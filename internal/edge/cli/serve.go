package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"

	"muster/internal/adapter/demo"
	"muster/internal/app"
	"muster/internal/engine/notify"
	"muster/internal/fleet"
	"muster/web"
)

type serveCommand struct {
	backupLock
	signOnFlags
	settingFlags
	Home                string   `help:"Folder for the database, keys and tokens." default:"${home}" type:"path"`
	Listen              string   `help:"Address of the API." default:"127.0.0.1:2525"`
	AgentListen         string   `help:"Address for agents alone, always TLS; without it they connect to --listen, where that is TLS." placeholder:"HOST:PORT"`
	Database            string   `secret:"" help:"URL of a PostgreSQL database (postgres://…) to use instead of SQLite in --home. If the URL contains a password, prefer --database-file." placeholder:"URL"`
	DatabaseFile        string   `help:"File with the URL of the database." type:"path" placeholder:"FILE"`
	Configurator        string   `help:"Whether daemons are written to: on or observe." default:"on" enum:"on,observe"`
	DiscoveryServer     []string `help:"Discovery server for devices without an address, instead of Syncthing's public ones; may be given several times; none switches discovery off." placeholder:"URL"`
	DiscoveryAllowLocal bool     `help:"Believe discovered loopback and link-local addresses (one host, tests)."`
	NotifyURL           []string `name:"notify-url" secret:"" sep:" " help:"Webhook that is told of problems by HTTP POST; may be given several times, in the variable with spaces between." placeholder:"URL"`
	NotifyURLFile       string   `name:"notify-url-file" help:"File with the URLs of webhooks, one on each line: often they hold a secret." type:"path" placeholder:"FILE"`
	NotifySecret        string   `secret:"" help:"Secret that signs the messages to webhooks: a text, or whsec_ and base64. Prefer --notify-secret-file." placeholder:"TEXT"`
	NotifySecretFile    string   `help:"File with what signs the messages to webhooks." type:"path" placeholder:"FILE"`
	NotifyMailTo        []string `help:"Mail address that is told of problems; may be given several times." placeholder:"ADDRESS"`
	NotifyMailFrom      string   `help:"Address that the mail comes from." placeholder:"ADDRESS"`
	SMTP                string   `name:"smtp" help:"Mail server; port 587 unless given." placeholder:"HOST:PORT"`
	SMTPUser            string   `name:"smtp-user" help:"User to log in as at the mail server." placeholder:"USER"`
	SMTPPassword        string   `name:"smtp-password" secret:"" help:"Password of that user. Prefer --smtp-password-file." placeholder:"TEXT"`
	SMTPPasswordFile    string   `name:"smtp-password-file" help:"File with the password of that user." type:"path" placeholder:"FILE"`
	SMTPTLS             string   `name:"smtp-tls" help:"auto: TLS on port 465, STARTTLS on any other; starttls; tls; none: in clear text." default:"auto" enum:"auto,starttls,tls,none"`
	NotifyAllowLocal    bool     `help:"Receivers that settings name, and sinks, may be on this machine: webhooks, mail servers and log stores at loopback and link-local addresses."`
	BackupRoot          []string `help:"Folder below which administrators may have backups made, besides the folder backups in --home; may be given several times." type:"path" placeholder:"DIR"`
	TLS                 string   `name:"tls" help:"auto: plain HTTP on loopback, a generated certificate elsewhere; off: plain HTTP behind a proxy." default:"auto" enum:"auto,off"`
	TLSCert             string   `name:"tls-cert" credential:"tls-cert" help:"Certificate (PEM) to serve with." type:"existingfile" placeholder:"FILE"`
	TLSKey              string   `name:"tls-key" credential:"tls-key" help:"Its key (PEM)." type:"existingfile" placeholder:"FILE"`
	AllowHost           []string `help:"Further names that clients may address this server by." placeholder:"NAME"`
	TrustProxy          []string `help:"Address or network of a proxy in front, which is believed where a client is (X-Forwarded-For); may be given several times." placeholder:"CIDR"`
	UntilInputEnds      bool     `hidden:"" help:"End when standard input does."`
	NewAdminToken       bool     `help:"Make another administrator's token, for when the last one is lost; it is written to --home."`
	SealKey             string   `secret:"" help:"Key that seals credentials in the database, 64 hex digits, instead of the key in --home. Prefer --seal-key-file." placeholder:"HEX"`
	SealKeyFile         string   `help:"File with the key that seals credentials at rest, instead of the one in --home." type:"path" placeholder:"FILE"`
	Demo                int      `help:"Also start N simulated daemons and manage them, in a folder that goes when the server ends unless --home names an empty one." placeholder:"N"`
	LogLevel            string   `help:"debug, info, warn or error." default:"info" enum:"debug,info,warn,error"`
}

// Run starts the server and blocks until ctx ends or a part of the server fails.
func (c *serveCommand) Run(ctx context.Context, env *environment) error {
	if err := c.check(); err != nil {
		return err
	}
	proxies, err := prefixes(c.TrustProxy)
	if err != nil {
		return err
	}
	ownOnly()
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
	lock, err := c.lock()
	if err != nil {
		return err
	}
	signOn, err := c.signOn()
	if err != nil {
		return err
	}
	handler := slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: level})
	// The HTTP/2 library complains of each strange frame there, and an agent may send many.
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(handler, slog.LevelDebug).Writer())
	if c.UntilInputEnds {
		until, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			defer cancel()
			_, _ = io.Copy(io.Discard, env.In)
		}()
		ctx = until
	}
	server, err := app.New(ctx, app.Options{
		Home: c.Home, Listen: c.Listen, AgentListen: c.AgentListen, Database: c.Database,
		Configurator:     fleet.Mode(c.Configurator),
		DiscoveryServers: c.DiscoveryServer, DiscoveryAllowLocal: c.DiscoveryAllowLocal,
		Settings: c.settingFlags.given(),
		Notify: notify.Settings{
			URLs: c.NotifyURL, Secret: fleet.NewSecret(c.NotifySecret),
			MailTo: c.NotifyMailTo, MailFrom: c.NotifyMailFrom, SMTP: c.SMTP, SMTPUser: c.SMTPUser,
			SMTPPassword: fleet.NewSecret(c.SMTPPassword), SMTPTLS: notify.MailTLS(c.SMTPTLS),
		},
		NotifyAllowLocal: c.NotifyAllowLocal,
		BackupLock:       lock, BackupRoots: c.BackupRoot,
		NewAdminToken: c.NewAdminToken,
		TLSOff:        c.TLS == "off", TLSCert: c.TLSCert, TLSKey: c.TLSKey, AllowHosts: c.AllowHost,
		TrustedProxies: proxies,
		SignOn:         signOn, PublicURL: c.PublicURL,
		SealKey: fleet.NewSecret(c.SealKey), Demo: c.Demo,
		Worker: []string{executable, "worker"}, DemoServer: append([]string{executable}, demo.Args...),
		Build: env.build, Console: web.Console(),
		Log: slog.New(handler), Out: env.Out, Watched: terminalOf(env.Out) != nil,
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // the server was stopped before it was ready
	}
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// check finds flags that are wrong, alone or together, before anything is opened.
func (c *serveCommand) check() error {
	for _, one := range []struct {
		wrong   bool
		message string
		hint    string
	}{
		{c.Home == "" && c.Demo == 0, "--home is blank", "Name the folder for the database, or leave --home out."},
		{c.Demo < 0, fmt.Sprintf("--demo %d is no number of daemons", c.Demo), "For example --demo 50."},
		{c.BackupEvery != "" && len(c.BackupRecipient) == 0 && c.BackupPassphraseFile == "",
			"--backup-every is given, but not what the backups are encrypted to",
			"Add --backup-recipient age1… or --backup-passphrase-file FILE."},
		{(c.TLSCert == "") != (c.TLSKey == ""), "--tls-cert and --tls-key go together, and one of them is missing",
			"Give both, or neither."},
		{c.TLS == "off" && c.TLSCert != "", "--tls=off and --tls-cert contradict each other", "Leave one of them out."},
		{c.SMTP+c.NotifyMailFrom != "" && len(c.NotifyMailTo) == 0,
			"a mail server or sender is given, but nobody who gets mail",
			"Add --notify-mail-to ADDRESS, or leave out --smtp and --notify-mail-from."},
	} {
		if one.wrong {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: one.message, Hint: one.hint}
		}
	}
	if err := c.signOnFlags.check(c.Listen); err != nil {
		return err
	}
	for _, name := range c.AllowHost {
		if name == "" || fleet.ValidateAddress(name) != nil {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--allow-host %q is no host name", name),
				Hint: "Give the name alone, without http:// and port."}
		}
	}
	return nil
}

// prefixes are networks; an address is a network of its own.
func prefixes(texts []string) (all []netip.Prefix, err error) {
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			ip, ipErr := netip.ParseAddr(text)
			if ipErr != nil {
				return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--trust-proxy %q is no network", text),
					Hint: "For example --trust-proxy 127.0.0.1, or --trust-proxy 10.1.0.0/16."}
			}
			prefix = netip.PrefixFrom(ip, ip.BitLen())
		}
		all = append(all, prefix)
	}
	return all, nil
}

// defaultHome is where a server keeps its data unless told otherwise, and where client commands look for its token.
func defaultHome() string {
	user, err := os.UserHomeDir()
	if err != nil {
		return ".muster"
	}
	return filepath.Join(envOr("XDG_DATA_HOME", filepath.Join(user, ".local/share")), "muster")
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
