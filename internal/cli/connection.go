package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"muster/client"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// connection is how client commands find the server and prove who asks.
type connection struct {
	Server     string `help:"Address of the server." default:"http://127.0.0.1:2525" placeholder:"URL"`
	Token      string `help:"Token to use; without one, the administrator's in --muster-home." placeholder:"TOKEN"`
	MusterHome string `help:"Home folder of a server on this machine." default:"${home}" env:"MUSTER_HOME" type:"path"`
}

func (c *connection) client() (*client.Client, error) {
	token := c.Token
	if token == "" {
		text, err := os.ReadFile(filepath.Join(c.MusterHome, auth.AdminTokenFile))
		if err != nil {
			return nil, noToken(c.MusterHome, err)
		}
		token = strings.TrimSpace(string(text))
	}
	return client.New(c.Server, token)
}

func noToken(home string, err error) error {
	why := fmt.Sprintf("there is no token: %s has no file %s", home, auth.AdminTokenFile)
	if !errors.Is(err, fs.ErrNotExist) {
		why = fmt.Sprintf("the token in %s is not readable: %v", home, err)
	}
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: why,
		Hint: "Give --token (or MUSTER_TOKEN), or --muster-home (or MUSTER_HOME) with the --home of a server on this machine.", Err: err}
}
