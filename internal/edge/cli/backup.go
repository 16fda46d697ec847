package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/app"
	"muster/internal/engine/backup"
	"muster/internal/fleet"
)

// storage is where a server on this machine keeps its data.
type storage struct {
	Home         string `help:"Home folder of the server." default:"${home}" type:"path"`
	Database     string `secret:"" help:"URL of a PostgreSQL database (postgres://…) to use instead of SQLite in --home. If the URL contains a password, prefer --database-file." placeholder:"URL"`
	DatabaseFile string `help:"File with the URL of the database." type:"path" placeholder:"FILE"`
}

func (s storage) options(build fleet.Build) app.Options {
	return app.Options{Home: s.Home, Database: s.Database, Build: build}
}

// backupLock are the flags that say what backups are encrypted to.
type backupLock struct {
	BackupRecipient      []string `help:"Public key of age, age1…, that backups are encrypted to; may be given several times." placeholder:"RECIPIENT"`
	BackupPassphraseFile string   `credential:"backup-passphrase" help:"File with the passphrase that backups are encrypted with, instead of --backup-recipient." type:"path" placeholder:"FILE"`
}

func (l backupLock) lock() (backup.Lock, error) {
	passphrase, err := fromFile(l.BackupPassphraseFile)
	if err != nil {
		return backup.Lock{}, err
	}
	return backup.NewLock(l.BackupRecipient, passphrase)
}

// fromFile reads a secret from a file. Without a file the secret is empty.
func fromFile(path string) (fleet.Secret, error) {
	if path == "" {
		return fleet.Secret{}, nil
	}
	return seal.ReadFile(path)
}

// backupMade is what programs read of a backup.
type backupMade struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

type backupCommand struct {
	storage
	output
	backupLock
	SealKey     string `secret:"" help:"Seal key, if it is not in --home. Prefer --seal-key-file." placeholder:"HEX"`
	SealKeyFile string `help:"File with the seal key, if it is not in --home." type:"path" placeholder:"FILE"`
	TLSCert     string `name:"tls-cert" credential:"tls-cert" help:"Certificate that the server was given, to be in the backup, too." type:"existingfile" placeholder:"FILE"`
	TLSKey      string `name:"tls-key" credential:"tls-key" help:"Private key of that certificate." type:"existingfile" placeholder:"FILE"`
	File        string `arg:"" help:"File to write; it must not be there yet." type:"path"`
}

// Run writes a backup, also while the server serves.
func (c *backupCommand) Run(ctx context.Context, env *environment) error {
	lock, err := c.lock()
	if err != nil {
		return err
	}
	o := c.options(env.build)
	o.SealKey, o.TLSCert, o.TLSKey = fleet.NewSecret(c.SealKey), c.TLSCert, c.TLSKey
	bar := env.newProgress()
	o.BackupProgress = func(p backup.Progress) { bar.at(int64(p.Rows), int64(p.Of), backupSteps[p.Step]) }
	made, err := app.BackUp(ctx, o, c.File, lock)
	bar.end()
	if err != nil {
		return err
	}
	return c.done(env, made.Path, backupMade{made.Path, made.Bytes}, fmt.Sprintf("Backup made and read back: %s, %d "+
		"bytes. Keep what opens it somewhere else.", made.Path, made.Bytes))
}

var backupSteps = map[backup.Step]string{backup.StepWrite: "Writing the rows", backup.StepRead: "Reading them back"}

type restoreCommand struct {
	storage
	Identity       string `help:"File with the secret key of age whose recipient the backup was made for." type:"path" placeholder:"FILE"`
	PassphraseFile string `credential:"backup-passphrase" help:"File with the passphrase of the backup." type:"path" placeholder:"FILE"`
	File           string `arg:"" help:"Backup to restore." type:"path"`
}

// Run fills an empty home and database with what a backup has.
func (c *restoreCommand) Run(ctx context.Context, env *environment) error {
	if c.Identity != "" { // the passphrase may come from a credential of the unit
		c.PassphraseFile = ""
	}
	identity, err := fromFile(c.Identity)
	if err != nil {
		return err
	}
	passphrase, err := fromFile(c.PassphraseFile)
	if err != nil {
		return err
	}
	opener, err := backup.NewOpener(identity, passphrase)
	if err != nil {
		return err
	}
	content, revived, err := app.Restore(ctx, c.options(env.build), c.File, opener)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "Restored what was kept at %s.\n", content.CreatedAt.Format("2006-01-02 15:04:05 MST"))
	if _, err := content.File(app.GivenCertificateFile); err == nil {
		fmt.Fprintf(env.Out, "The certificate that the server was given is in %s, as %s and %s: name them with --tls-cert "+
			"and --tls-key.\n", c.Home, app.GivenCertificateFile, app.GivenKeyFile)
	}
	c.printRevived(env.Out, revived)
	fmt.Fprintf(
		env.Out,
		"Start the server (`muster serve --home %s`, with the same flags as before). It writes to no daemon until "+
			"you type `muster resume`; `muster status` says how many devices differ from their plans.\n",
		quoted(c.Home),
	)
	return nil
}

// printRevived names the tokens and users that have a role again, and the command that proves where the backup comes
// from.
func (c *restoreCommand) printRevived(out io.Writer, revived app.Revived) {
	fmt.Fprintln(out, "These have a role again, as when the backup was made. Take away what was withdrawn since:")
	now := time.Now()
	for _, token := range revived.Tokens {
		state := string(token.Role)
		switch {
		case token.Altered:
			state = "no role: not written by Muster"
		case !token.ExpiresAt.IsZero() && now.After(token.ExpiresAt):
			state = "expired"
		}
		fmt.Fprintf(out, "  token %s: %s\n", printable(token.Name), state)
	}
	for _, user := range revived.Users {
		state := string(user.Role)
		if user.Altered {
			state = "no role: not written by Muster"
		}
		fmt.Fprintf(out, "  user %s: %s\n", printable(user.Name), state)
	}
	fmt.Fprintln(out, "Whether the backup is of your server, a head of its audit proves, from the log or an earlier "+
		"`muster audit head`: once the server runs, type `muster audit verify --head HEAD`.")
}
