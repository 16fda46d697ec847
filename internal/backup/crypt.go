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

// workFactor of passphrases is what scrypt takes 64 MiB and about a fifth of a second for: the server makes backups
// while it serves. Passphrases for backups are in files, and can be long.
const workFactor = 16

// minPassphraseBytes is what keeps a passphrase from being guessed by those who have a copy of the file.
const minPassphraseBytes = 20

func shortPassphrase() error {
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("a passphrase for backups has at least %d bytes", minPassphraseBytes),
		Hint: "Make one in a file of its own, and keep a copy of it elsewhere: " +
			"(umask 077; openssl rand -base64 24 > backup-passphrase). Backups that have a shorter one can still be restored."}
}

// Lock is what a backup is encrypted to.
type Lock struct{ recipients []age.Recipient }

// IsZero tells whether nothing was given.
func (l Lock) IsZero() bool { return len(l.recipients) == 0 }

// NewLock is a lock for recipients of age (age1...), or for a passphrase; not for both.
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

// encrypt gives what encrypts to w, and what reads it back as long as this process lives.
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

// keyed is a recipient that also tells the key of the file.
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

// Opener is what a backup is decrypted with.
type Opener struct{ identities []age.Identity }

// NewOpener takes the text of a file with age's secret keys, or a passphrase.
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

// unreadable gives an error of reading a backup its meaning.
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
