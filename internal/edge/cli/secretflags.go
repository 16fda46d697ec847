package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

// A flag for a secret is tagged `secret:""` and has a twin for the name of a file, because every user of the machine
// can read command lines in the list of processes. Without both, the secret is the systemd credential with the name
// of the flag. A flag for a file with a secret is tagged `credential:"NAME"`, and has no twin.
const (
	secretTag     = "secret"
	credentialTag = "credential"
	fileSuffix    = "-file"
)

// fillSecrets sets the flags for secrets from their files and from systemd credentials.
func fillSecrets(flags []*kong.Flag) error {
	byName := map[string]*kong.Flag{}
	for _, flag := range flags {
		byName[flag.Name] = flag
	}
	for _, flag := range flags {
		var err error
		switch {
		case flag.Tag.Has(secretTag):
			err = fillSecret(flag, byName[flag.Name+fileSuffix])
		case flag.Tag.Has(credentialTag) && flag.Target.IsZero():
			if path := credential(flag.Tag.Get(credentialTag)); path != "" {
				flag.Target.SetString(path)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func fillSecret(flag, file *kong.Flag) error {
	path := file.Target.String()
	if path != "" && !flag.Target.IsZero() {
		return &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("--%s and --%s are both given", flag.Name, file.Name),
			Hint:    fmt.Sprintf("Leave --%s out, and its variable.", flag.Name)}
	}
	if path == "" && flag.Target.IsZero() {
		path = credential(flag.Name)
	}
	if path == "" {
		return nil
	}
	value, err := seal.ReadFile(path)
	if err != nil {
		return err
	}
	if flag.Target.Kind() == reflect.Slice { // the file has one value on each line
		flag.Target.Set(reflect.ValueOf(strings.Fields(value.Reveal())))
		return nil
	}
	flag.Target.SetString(value.Reveal())
	return nil
}

// credential is the file of a systemd credential, "" if there is no such credential.
func credential(name string) string {
	folder := os.Getenv("CREDENTIALS_DIRECTORY")
	if folder == "" {
		return ""
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}
