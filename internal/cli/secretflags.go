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

	"muster/internal/fleet"
	"muster/internal/seal"
)

// A flag for a secret is tagged `secret:""` and has a twin with the name of a file: what stands on a command line every
// user of the machine sees in the list of processes. Where neither is given, the secret is the systemd credential that
// has the flag's name. A flag that names a file with a secret is tagged `credential:"NAME"`, and has no twin.
const (
	secretTag     = "secret"
	credentialTag = "credential"
	fileSuffix    = "-file"
)

// fillSecrets puts into the flags for secrets what their files and the systemd credentials hold.
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
	if flag.Target.Kind() == reflect.Slice { // one value on each line
		flag.Target.Set(reflect.ValueOf(strings.Fields(value.Reveal())))
		return nil
	}
	flag.Target.SetString(value.Reveal())
	return nil
}

// credential is the file of a systemd credential, "" where there is none of that name.
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
