package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"muster/client"
	"muster/internal/adapter/listen"
	"muster/internal/adapter/seal"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// callLimit is how long one answer of the server may take.
const callLimit = 2 * time.Minute

const howToGiveAToken = "Type `muster login`, give --token-file FILE (or MUSTER_TOKEN), or --muster-home (or " +
	"MUSTER_HOME) with the --home of a server on this machine. " +
	"If no administrator has one any more, start the server with --new-admin-token."

const defaultServer = "http://127.0.0.1:2525"

// connection is how client commands find the server and prove who asks.
type connection struct {
	Context    string `group:"Flags of every command:" help:"Name of the context to use: a server with its token and certificate, as muster context list shows them. --server and --token count more." placeholder:"CONTEXT"`
	Server     string `group:"Flags of every command:" help:"Address of the server, or the name of one that you logged in to; without it, the one that you logged in to last, else http://127.0.0.1:2525." placeholder:"URL|NAME"`
	Token      string `group:"Flags of every command:" secret:"" help:"Token to use; without one, that of your log-in, else the administrator's in --muster-home. Better --token-file." placeholder:"TOKEN"`
	TokenFile  string `group:"Flags of every command:" help:"File with the token to use." type:"path" placeholder:"FILE"`
	MusterHome string `group:"Flags of every command:" help:"Home folder of a server on this machine; without it, ${home} or that of a package, whose token is sent to loopback addresses only." env:"MUSTER_HOME" type:"path" placeholder:"DIR"`
	CA         string `group:"Flags of every command:" name:"ca" help:"File with a certificate (PEM) to trust besides the system's; without it, that of your log-in, else the one that a server on this machine made itself, in --muster-home." type:"path" placeholder:"FILE"`
	Quiet      bool   `group:"Flags of every command:" env:"-" help:"Print nothing but questions, warnings and errors; the exit code says the rest."`
	APIVerbose bool   `group:"Flags of every command:" name:"api-verbose" help:"Print the requests of the command and their answers on standard error, secrets masked."`

	fingerprint string    // set by commands with --fingerprint; see target
	trace       io.Writer // nil: requests are not printed
	message     *string   // purpose of the changes of the command; nil: not known yet

	onCommandLine map[string]bool // names of the flags that were typed; the others come from the environment
}

// AfterApply is called by kong before Run.
func (c *connection) AfterApply(env *environment, parsed *kong.Context) error {
	c.message = &env.message
	c.onCommandLine = typedFlags(parsed)
	if c.APIVerbose {
		c.trace = env.Err
	}
	return nil
}

// typedFlags are the names of the flags that are on the command line.
func typedFlags(parsed *kong.Context) map[string]bool {
	typed := map[string]bool{}
	for _, step := range parsed.Path {
		if step.Flag != nil {
			typed[step.Flag.Name] = true
		}
	}
	return typed
}

// target is a server with its token and what proves its identity, from the flags or from a log-in.
type target struct {
	name    string // the name of the log-in, or the one that a log-in would get
	address string
	token   string // "": the administrator's in the home
	ca      string
	// fingerprint is that of the certificate or public key that the server has to show. Where it is "", certificate
	// authorities vouch for the server.
	fingerprint string
	home        string
	trace       io.Writer // nil: requests are not printed

	context   string // name of the context that the person asked for; "": none
	tokenFile string // file with the token of the context
	user      string // user of the session whose token it is
	unsent    string // name of the context in use, whose token is for another server; "": none
}

// target finds the server. A token that is typed is sent to the server from the flags, or to that of the context in
// use. Any other token or home is sent to the server from the flags, to that of a context which is asked for, or to
// the one on this machine, never to the server of an earlier log-in.
func (c *connection) target(all logins) (target, error) {
	c.dropEnvironment()
	if name, err := c.contextOf(all); name != "" || err != nil {
		return c.targetOf(all, name, err)
	}
	at := target{address: strings.TrimRight(c.Server, "/"), token: c.Token, ca: c.CA,
		fingerprint: c.fingerprint, trace: c.trace}
	candidates := []string{c.MusterHome}
	if c.MusterHome == "" {
		candidates = homes()
	}
	byLogin := c.Token == "" && c.MusterHome == ""
	if at.address != "" {
		at.home = homeWithToken(candidates)
	} else {
		at.home, at.address = localServer(candidates, defaultServer)
		current := all.Servers[all.Current]
		if byLogin && current.canProve() || current.Address != "" && c.isTokenTyped() && c.MusterHome == "" {
			return c.with(at, all.Current, current), nil
		}
	}
	var kept login
	if at.name, kept = all.find(at.address); at.name != "" {
		at.address = kept.Address
		if byLogin {
			at.token, at.tokenFile, at.user = kept.Token, kept.TokenFile, kept.User
		}
		return c.trusting(at, kept), nil
	}
	at.name = hostOf(at.address)
	if used := cmp.Or(c.Context, all.Current); byLogin && all.Servers[used].canProve() {
		at.unsent = used
	}
	if !strings.Contains(at.address, "://") {
		return at, all.unknownServer(c.Server)
	}
	return at, nil
}

// isTokenTyped reports whether a token is on the command line.
func (c *connection) isTokenTyped() bool {
	return c.Token != "" && (c.onCommandLine["token"] || c.onCommandLine["token-file"])
}

// resolved is target with the kept log-ins.
func (c *connection) resolved() (target, error) {
	all, err := readLogins()
	if err != nil {
		return target{}, err
	}
	return c.target(all)
}

// ProvideClient has kong give the server to every Run method that takes one.
func (c *connection) ProvideClient() (*client.Client, error) { return c.client() }

func (c *connection) client() (*client.Client, error) {
	at, err := c.resolved()
	if err != nil {
		return nil, err
	}
	if at.token == "" && at.tokenFile != "" {
		secret, err := seal.ReadFile(at.tokenFile)
		if err != nil {
			return nil, err
		}
		at.token = secret.Reveal()
	}
	if at.token == "" {
		if (c.MusterHome == "" || at.context != "") && !at.onThisMachine() {
			return nil, notLoggedIn(at)
		}
		text, err := os.ReadFile(filepath.Join(at.home, auth.AdminTokenFile))
		if err != nil && at.unsent != "" {
			return nil, notLoggedIn(at)
		}
		if err != nil {
			return nil, noToken(at.home, err)
		}
		at.token = strings.TrimSpace(string(text))
		// Its user may have made it a link to a file of root, which must not be sent.
		if at.home == packagedHome && !auth.LooksLikeToken(at.token) {
			return nil, noToken(at.home, errors.New("it holds no token of Muster"))
		}
	}
	server, err := at.client(at.token)
	if err == nil && c.message != nil {
		server.Message(*c.message)
	}
	return server, err
}

// onThisMachine reports whether the address is a loopback one.
func (t target) onThisMachine() bool {
	at, err := url.Parse(t.address)
	return err == nil && auth.LoopbackHost(at.Host)
}

// client calls the server with a token; "": with none.
func (t target) client(token string) (*client.Client, error) {
	over, err := t.transport()
	if err != nil {
		return nil, err
	}
	if t.trace != nil {
		over = tracer{over, t.trace}
	}
	return client.NewWith(t.address, token, &http.Client{Timeout: callLimit, Transport: over})
}

// transport trusts the certificates that the server may show.
func (t target) transport() (http.RoundTripper, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if t.fingerprint != "" {
		var err error
		transport.TLSClientConfig, err = t.byFingerprint()
		return transport, err
	}
	trusted, err := t.trusted()
	if err != nil {
		return nil, err
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// trusted are the certificates that a server may show; nil: the system's.
func (t target) trusted() (*x509.CertPool, error) {
	file := t.ca
	if file == "" {
		file = filepath.Join(t.home, listen.CertificateFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		if t.ca == "" { // the server made no certificate, or this user may not read it
			return nil, nil //nolint:nilnil,nilerr // the system's are enough
		}
		return nil, noCertificate(err.Error())
	}
	all, err := x509.SystemCertPool()
	if err != nil {
		all = x509.NewCertPool()
	}
	if !all.AppendCertsFromPEM(text) && t.ca != "" {
		return nil, noCertificate(file + " holds no certificate")
	}
	return all, nil
}

func noCertificate(why string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "--ca cannot be used: " + why,
		Hint: "Give a file with the server's certificate, or its issuer's, in PEM."}
}

// notLoggedIn is the error about a server that is to be called by the administrator's token of this machine, or while
// the context in use is another server.
func notLoggedIn(at target) error {
	if at.unsent != "" {
		return &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: fmt.Sprintf("you are not logged in to %s, and the token of the context %q is not sent to another server",
				at.address, at.unsent),
			Hint: fmt.Sprintf("Give --token-file FILE with a token of that server, or type `muster login --server %s`.",
				at.address)}
	}
	return &fleet.Error{Code: fleet.CodeUnauthorized,
		Message: fmt.Sprintf("you are not logged in to %s, and the token in %s is for a server on this machine", at.address,
			at.home),
		Hint: fmt.Sprintf("Type `muster login --server %s`, or give --token-file FILE (or MUSTER_TOKEN). If the server is "+
			"the one whose home that is, give --muster-home (or MUSTER_HOME).", at.address)}
}

func noToken(home string, err error) error {
	why := fmt.Sprintf("there is no token: %s has no file %s", home, auth.AdminTokenFile)
	if !errors.Is(err, fs.ErrNotExist) {
		why = fmt.Sprintf("the token in %s is not readable: %v", home, err)
	}
	hint := howToGiveAToken
	if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
		hint = "No server was started on this machine by this user: `muster serve` starts one. " + howToGiveAToken
	}
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: why, Hint: hint}
}

// byFingerprint trusts one certificate, or one public key, and nothing else.
func (t target) byFingerprint() (*tls.Config, error) {
	pin, err := fleet.ParsePin(t.fingerprint)
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q is no fingerprint", t.fingerprint),
			Hint: "It is sha256: and 64 hexadecimal digits; `muster serve` prints it when it starts."}
	}
	if !strings.HasPrefix(t.address, "https://") {
		return nil, &fleet.Error{Code: fleet.CodeInvalid,
			Message: "a fingerprint proves nothing about " + t.address + ", which is plain HTTP",
			Hint:    "Write https:// before the address of the server, or leave --fingerprint (or MUSTER_FINGERPRINT) out."}
	}
	return &tls.Config{MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection decides, by the fingerprint
		VerifyConnection: func(state tls.ConnectionState) error {
			shown := state.PeerCertificates[0]
			key := fleet.KeyFingerprint(shown)
			if pin == key || pin == fleet.CertificateOf(shown).Fingerprint {
				return nil
			}
			return &fleet.Error{Code: fleet.CodeWrongPin,
				Message: fmt.Sprintf("the server at %s has the fingerprint %s, not the one that was given", t.address, key),
				Hint: "Compare it with what `muster serve` printed when it started. If it differs, another server answers " +
					"there: ask the administrator."}
		}}, nil
}
