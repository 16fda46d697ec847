package backup

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"

	"muster/internal/fleet"
)

// workFactor is the cost of a passphrase. At 16 scrypt takes 64 MiB and about 0.2 s. More would slow a server that
// makes backups while it serves; passphrases for backups are read from files and can be long instead.
const workFactor = 16

// minPassphraseBytes is the shortest passphrase that cannot be guessed by somebody who has a copy of the backup.
const minPassphraseBytes = 20

func shortPassphrase() error {
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("a passphrase for backups has at least %d bytes", minPassphraseBytes),
		Hint: "Make one in a file of its own, and keep a copy of it elsewhere: " +
			"(umask 077; openssl rand -base64 24 > backup-passphrase). Backups that have a shorter one can still be restored."}
}

// Lock is the recipients that a backup is encrypted to.
type Lock struct{ recipients []age.Recipient }

// IsZero reports whether the lock has no recipient.
func (l Lock) IsZero() bool { return len(l.recipients) == 0 }

// NewLock makes a lock for recipients of age (age1...) or for a passphrase, but not for both.
func NewLock(recipients []string, passphrase fleet.Secret) (Lock, error) {
	switch {
	case len(recipients) > 0 && !passphrase.IsZero():
		return Lock{}, &fleet.Error{Code: fleet.CodeInvalid, Message: "a recipient and a passphrase are both given",
			Hint: "A backup is for recipients, or has a passphrase: leave one out."}
	case !passphrase.IsZero():
		if len(passphrase.Reveal()) < minPassphraseBytes {
			return Lock{}, shortPassphrase()
		}
		one, err := age.NewScryptRecipient(passphrase.Reveal())
		if err != nil {
			return Lock{}, fmt.Errorf("use passphrase: %w", err)
		}
		one.SetWorkFactor(workFactor)
		return Lock{[]age.Recipient{one}}, nil
	case len(recipients) == 0:
		return Lock{}, nil
	}
	parsed, err := age.ParseRecipients(strings.NewReader(strings.Join(recipients, "\n")))
	if err != nil {
		return Lock{}, &fleet.Error{Code: fleet.CodeInvalid, Message: "--backup-recipient is no recipient of age: " +
			err.Error(), Hint: "Make a key with `age-keygen -o backup-key.txt`, and give the public key that it prints, age1…"}
	}
	return Lock{parsed}, nil
}

// encrypt returns a writer that encrypts to w, and an identity that decrypts what was written. The identity exists
// only in memory.
func (l Lock) encrypt(w io.Writer) (io.WriteCloser, age.Identity, error) {
	var fileKey []byte
	recipients := slices.Clone(l.recipients)
	recipients[0] = keyed{recipients[0], &fileKey}
	out, err := age.Encrypt(w, recipients...)
	if err != nil {
		return nil, nil, err
	}
	return out, age.NewInjectedFileKeyIdentity(fileKey), nil
}

// keyed is a recipient that also remembers the key of the file.
type keyed struct {
	age.Recipient
	fileKey *[]byte
}

func (k keyed) WrapWithLabels(fileKey []byte) ([]*age.Stanza, []string, error) {
	*k.fileKey = slices.Clone(fileKey)
	if labelled, ok := k.Recipient.(age.RecipientWithLabels); ok {
		return labelled.WrapWithLabels(fileKey)
	}
	stanzas, err := k.Wrap(fileKey)
	return stanzas, nil, err
}

// Opener holds the age identities (private keys) that decrypt a backup.
type Opener struct{ identities []age.Identity }

// NewOpener makes an opener from a file's text with age's secret keys, or from a passphrase.
func NewOpener(identities, passphrase fleet.Secret) (Opener, error) {
	switch {
	case identities.IsZero() == passphrase.IsZero():
		return Opener{}, &fleet.Error{Code: fleet.CodeInvalid, Message: "say what opens the backup, a key or a passphrase",
			Hint: "Give --identity FILE with the secret key of age, or --passphrase-file FILE."}
	case !passphrase.IsZero():
		one, err := age.NewScryptIdentity(passphrase.Reveal())
		if err != nil {
			return Opener{}, fmt.Errorf("use passphrase: %w", err)
		}
		return Opener{[]age.Identity{one}}, nil
	}
	parsed, err := age.ParseIdentities(strings.NewReader(identities.Reveal()))
	if err != nil {
		return Opener{}, &fleet.Error{Code: fleet.CodeInvalid,
			Message: "the file given with --identity holds no secret key of age",
			Hint:    "Give the file that `age-keygen -o` made: it has a line AGE-SECRET-KEY-…"}
	}
	return Opener{parsed}, nil
}

// unreadable turns an error of reading a backup into a *fleet.Error.
func unreadable(err error) error {
	var of sinkError
	if errors.As(err, &of) {
		return of.error
	}
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return &fleet.Error{Code: fleet.CodeInvalid,
			Message: "the backup cannot be opened: this is not its key or passphrase",
			Hint: "Give the secret key of the recipient that it was made for (--identity), or its passphrase " +
				"(--passphrase-file).", Err: err}
	}
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: "this is no whole backup of Muster: it is cut short or was changed",
		Hint:    "Take another copy of the file, or another backup. Nothing was restored from this one.", Err: err}
}

func newerFormat(c Content) error {
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("the backup was made by a newer Muster, %s", c.Muster),
		Hint:    "Restore it with that version, or a newer one."}
}
