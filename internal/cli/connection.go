package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"muster/client"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/listen"
)

// callLimit is how long one answer of the server may take.
const callLimit = 2 * time.Minute

const howToGiveAToken = "Give --token-file FILE (or MUSTER_TOKEN), or --muster-home (or MUSTER_HOME) with the --home of a " +
	"server on this machine. " +
	"If no administrator has one any more, start the server with --new-admin-token."

// connection is how client commands find the server and prove who asks.
type connection struct {
	Server     string `help:"Address of the server." default:"http://127.0.0.1:2525"`
	Token      string `secret:"" help:"Token to use; without one, the administrator's in --muster-home. Better --token-file." placeholder:"TOKEN"`
	TokenFile  string `help:"File with the token to use." type:"path" placeholder:"FILE"`
	MusterHome string `help:"Home folder of a server on this machine." default:"${home}" env:"MUSTER_HOME" type:"path"`
	CA         string `name:"ca" help:"File with a certificate (PEM) to trust besides the system's; without it, the one that a server on this machine made itself, in --muster-home." type:"path" placeholder:"FILE"`
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
	trusted, err := c.trusted()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return client.NewWith(c.Server, token, &http.Client{Timeout: callLimit, Transport: transport})
}

// trusted are the certificates that a server may show; nil: the system's.
func (c *connection) trusted() (*x509.CertPool, error) {
	file := c.CA
	if file == "" {
		file = filepath.Join(c.MusterHome, listen.CertificateFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		if c.CA == "" { // there is none, or it is not ours to read
			return nil, nil //nolint:nilnil,nilerr // the system's are enough
		}
		return nil, noCertificate(err.Error())
	}
	all, err := x509.SystemCertPool()
	if err != nil {
		all = x509.NewCertPool()
	}
	if !all.AppendCertsFromPEM(text) && c.CA != "" {
		return nil, noCertificate(file + " holds no certificate")
	}
	return all, nil
}

func noCertificate(why string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "--ca cannot be used: " + why,
		Hint: "Give a file with the server's certificate, or its issuer's, in PEM."}
}

func noToken(home string, err error) error {
	why := fmt.Sprintf("there is no token: %s has no file %s", home, auth.AdminTokenFile)
	if !errors.Is(err, fs.ErrNotExist) {
		why = fmt.Sprintf("the token in %s is not readable: %v", home, err)
	}
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: why, Hint: howToGiveAToken}
}
