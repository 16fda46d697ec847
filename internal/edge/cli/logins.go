package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// login is what is kept of one server, by `muster login` or `muster context add`. People call it a context.
type login struct {
	Address   string    `json:"address"`
	User      string    `json:"user"`
	Token     string    `json:"token,omitempty"` // token of the session; "": logged out
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	TokenFile string    `json:"tokenFile,omitempty"` // file with a token, for a context without a session
	Device    string    `json:"device,omitempty"`    // proves to the server that the user logged in here before
	CA        string    `json:"ca,omitempty"`        // file with a certificate to trust
	// Fingerprint is that of the certificate or public key that the server has to show.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// canProve reports whether there is a token for the server.
func (l login) canProve() bool { return l.Token != "" || l.TokenFile != "" }

// logins is the file of all servers that a person logged in to or added as contexts.
type logins struct {
	Current string           `json:"current"` // the name of the server that commands use
	Servers map[string]login `json:"servers"` // the key is the name
}

// loginsFile is in the person's configuration directory.
func loginsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", &fleet.Error{Code: fleet.CodeUnavailable, Message: "there is no configuration directory: " + err.Error(),
			Hint: "Set HOME or XDG_CONFIG_HOME."}
	}
	return filepath.Join(dir, "muster", "logins.json"), nil
}

// readLogins reads the file of log-ins. Without a file the result is empty.
func readLogins() (logins, error) {
	all := logins{Servers: map[string]login{}}
	path, err := loginsFile()
	if err != nil {
		return all, nil //nolint:nilerr // commands with a token need no configuration directory
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return all, &fleet.Error{Code: fleet.CodeInvalid, Message: "what was logged in to cannot be read: " + err.Error(),
			Hint: "Remove " + path + " and log in again."}
	}
	if all.Servers == nil {
		all.Servers = map[string]login{}
	}
	return all, nil
}

// write replaces the file as a whole. Other users cannot read it.
func (l logins) write() error {
	path, err := loginsFile()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(path, append(text, '\n')); err != nil {
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the log-in cannot be kept: " + err.Error(),
			Hint: "Look whether " + filepath.Dir(path) + " belongs to you and its disk has room."}
	}
	return nil
}

func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // CreateTemp makes it with the mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // the rename leaves nothing to remove
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// find is the login of a server, by its name or its address; name is "" without one.
func (l logins) find(server string) (name string, found login) {
	if found, ok := l.Servers[server]; ok {
		return server, found
	}
	for _, name := range slices.Sorted(maps.Keys(l.Servers)) {
		if l.Servers[name].Address == strings.TrimRight(server, "/") {
			return name, l.Servers[name]
		}
	}
	return "", login{}
}

// hostOf is the name of a server that was given none: its host and port.
func hostOf(address string) string {
	if at, err := url.Parse(address); err == nil && at.Host != "" {
		return at.Host
	}
	return address
}

// unknownServer is the error about a text that is neither a name nor an address.
func (l logins) unknownServer(server string) error {
	hint := "An address looks like http://127.0.0.1:2525."
	if len(l.Servers) > 0 {
		hint = hint[:len(hint)-1] + ", and the names are: " + strings.Join(slices.Sorted(maps.Keys(l.Servers)), ", ") + "."
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q is no server that you logged in to", server),
		Hint: hint}
}
