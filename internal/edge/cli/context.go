package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

// A context is a server that was logged in to or added: address, token or file of one, and what proves its identity.
// Both ways write the same file, so that --server NAME and --context NAME mean the same server.

type contextCommand struct {
	List   contextListCommand   `cmd:"" help:"List the contexts; a * marks the one that commands use."`
	Use    contextUseCommand    `cmd:"" help:"Have commands use a context from now on."`
	Add    contextAddCommand    `cmd:"" help:"Add a context: a server, the file of a token for it, and its certificate."`
	Remove contextRemoveCommand `cmd:"" help:"Remove a context; the server and the file of its token stay as they are."`
}

// shownContext is a context without its token.
type shownContext struct {
	Name        string `json:"name"`
	Server      string `json:"server"`
	Current     bool   `json:"current"`
	User        string `json:"user,omitempty"` // "": there is no session
	TokenFile   string `json:"tokenFile,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	CA          string `json:"ca,omitempty"`
}

var contextNoun = columns[shownContext]{
	titles: []string{"CURRENT", "NAME", "SERVER", "TOKEN", "CERTIFICATE"},
	name:   func(c shownContext) string { return c.Name },
	row: func(c shownContext) []string {
		current := ""
		if c.Current {
			current = "*"
		}
		return []string{current, c.Name, c.Server, c.proof(), cmp.Or(c.Fingerprint, c.CA, "-")}
	},
}

// proof says by what the server knows who asks.
func (c shownContext) proof() string {
	switch {
	case c.User != "":
		return "session of " + c.User
	case c.TokenFile != "":
		return c.TokenFile
	}
	return "none"
}

func (l logins) shown(name string) shownContext {
	kept := l.Servers[name]
	out := shownContext{Name: name, Server: kept.Address, Current: name == l.Current, TokenFile: kept.TokenFile,
		Fingerprint: kept.Fingerprint, CA: kept.CA}
	if kept.Token != "" {
		out.User = kept.User
	}
	return out
}

func (l logins) names() []string { return slices.Sorted(maps.Keys(l.Servers)) }

// named is the context with the name.
func (l logins) named(name string) (login, error) {
	kept, exists := l.Servers[name]
	if exists {
		return kept, nil
	}
	hint := "`muster context list` lists all; `muster login` or `muster context add NAME --server URL` makes one."
	if near := fleet.Nearest(name, l.names()); near != "" {
		hint = fmt.Sprintf("Did you mean %q? %s", near, hint)
	}
	return kept, &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("there is no context %q", name), Hint: hint}
}

// ofContexts is what commands about contexts print, which ask no server.
type ofContexts struct {
	output
	Quiet bool `env:"-" help:"Print nothing but questions, warnings and errors; the exit code says the rest."`
}

type contextListCommand struct {
	ofContexts
	sorting
	paging
}

// Run lists the contexts. No server is asked.
func (c *contextListCommand) Run(env *environment) error {
	all, err := readLogins()
	if err != nil {
		return err
	}
	var shown []shownContext
	for _, name := range all.names() {
		shown = append(shown, all.shown(name))
	}
	return printSorted(env, c.output, c.sorting, contextNoun, shown)
}

type contextUseCommand struct {
	ofContexts
	Name string `arg:"" help:"Name of the context."`
}

// Run makes a context the one that commands use.
func (c *contextUseCommand) Run(env *environment) error {
	all, err := readLogins()
	if err != nil {
		return err
	}
	kept, err := all.named(c.Name)
	if err != nil {
		return err
	}
	if !kept.canProve() {
		return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("the context %q has no token", c.Name),
			Hint: "`muster login --server " + quoted(c.Name) + "` logs in there."}
	}
	all.Current = c.Name
	if err := all.write(); err != nil {
		return err
	}
	return c.done(env, c.Name, all.shown(c.Name), fmt.Sprintf("Commands use %s now, at %s.", printable(c.Name),
		printable(kept.Address)))
}

type contextAddCommand struct {
	ofContexts
	Name        string `arg:"" help:"What to call the server."`
	Server      string `env:"-" required:"" help:"Address of the server, as https://muster.example:2525." placeholder:"URL"`
	TokenFile   string `env:"-" help:"File with a token, which only you can read; without it, muster login --server NAME logs in." type:"path" placeholder:"FILE"`
	Fingerprint string `env:"-" help:"Fingerprint of the server's certificate, or of its public key, as the server prints it when it starts; no other is trusted then." placeholder:"sha256:HEX"`
	CA          string `name:"ca" env:"-" help:"File with a certificate (PEM) to trust besides the system's." type:"path" placeholder:"FILE"`
}

// Run adds a context. The first one with a token becomes the one that commands use. The server is not asked.
func (c *contextAddCommand) Run(env *environment) error {
	all, err := readLogins()
	if err != nil {
		return err
	}
	if err := c.check(all); err != nil {
		return err
	}
	all.Servers[c.Name] = login{Address: strings.TrimRight(c.Server, "/"), TokenFile: c.TokenFile, CA: c.CA,
		Fingerprint: c.Fingerprint}
	if all.Current == "" && c.TokenFile != "" {
		all.Current = c.Name
	}
	if err := all.write(); err != nil {
		return err
	}
	text := fmt.Sprintf("Added. `muster context use %s` has commands use it.", quoted(c.Name))
	switch {
	case c.TokenFile == "":
		text = fmt.Sprintf("Added. `muster login --server %s` logs in.", quoted(c.Name))
	case all.Current == c.Name:
		text = "Added. Commands use it now."
	}
	return c.done(env, c.Name, all.shown(c.Name), text)
}

// check refuses what would not work later. A token is not sent to find out.
func (c *contextAddCommand) check(all logins) error {
	switch {
	case strings.Contains(c.Name, "://") || printable(c.Name) != c.Name || strings.HasPrefix(c.Name, "-"):
		return fleet.Invalidf("name", "%q cannot be the name of a context", c.Name)
	case all.Servers[c.Name].Address != "":
		return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("there is a context %q already", c.Name),
			Hint: "`muster context remove " + quoted(c.Name) + "` removes it; or choose another name."}
	}
	at := target{address: strings.TrimRight(c.Server, "/"), ca: c.CA, fingerprint: c.Fingerprint}
	if _, err := at.client(""); err != nil {
		return err
	}
	if c.TokenFile == "" {
		return nil
	}
	_, err := seal.ReadFile(c.TokenFile)
	return err
}

type contextRemoveCommand struct {
	ofContexts
	Name string `arg:"" help:"Name of the context."`
	Yes  bool   `short:"y" env:"-" help:"Do not ask."`
}

// Run removes a context. A session is ended by `muster logout` first: without its token nothing could end it.
func (c *contextRemoveCommand) Run(env *environment) error {
	all, err := readLogins()
	if err != nil {
		return err
	}
	kept, err := all.named(c.Name)
	if err != nil {
		return err
	}
	if kept.Token != "" {
		return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("you are logged in to %q", c.Name),
			Hint: "`muster logout --server " + quoted(c.Name) + "` ends the session; then remove it."}
	}
	if !c.Yes {
		if err := confirm(env, fmt.Sprintf("Remove the context %s, at %s?", printable(c.Name),
			printable(kept.Address))); err != nil {
			return err
		}
	}
	delete(all.Servers, c.Name)
	if all.Current == c.Name {
		all.Current = ""
	}
	if err := all.write(); err != nil {
		return err
	}
	return c.done(env, c.Name, changed{c.Name, "removed"}, "Removed.")
}

// contextOf is the context that was asked for, "" for none. --server counts more than the variable MUSTER_CONTEXT. In
// every other case a context and a server that differ are refused: one of the two is not what the person means.
func (c *connection) contextOf(all logins) (string, error) {
	if c.Context == "" || c.onCommandLine["server"] && !c.onCommandLine["context"] {
		return "", nil
	}
	kept, err := all.named(c.Context)
	if err != nil {
		return "", err
	}
	if named, server := all.find(c.Server); c.Server != "" && c.Server != c.Context &&
		strings.TrimRight(c.Server, "/") != kept.Address && (named == "" || server.Address != kept.Address) {
		return "", &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("the context %q is at %s, and the server %s is given as well", c.Context, kept.Address,
				c.Server),
			Hint: "Leave out one of them: --context (or MUSTER_CONTEXT), --server (or MUSTER_SERVER)."}
	}
	return c.Context, nil
}

// targetOf is the server of a context that was asked for.
func (c *connection) targetOf(all logins, name string, err error) (target, error) {
	if err != nil {
		return target{}, err
	}
	at := target{token: c.Token, ca: c.CA, fingerprint: c.fingerprint, trace: c.trace, context: name,
		home: cmp.Or(c.MusterHome, homeWithToken(homes()))}
	return c.with(at, name, all.Servers[name]), nil
}

// with completes a target by the address, the credential and the trust of a context.
func (c *connection) with(at target, name string, kept login) target {
	at.name, at.address = name, kept.Address
	if at.token == "" {
		at.token, at.tokenFile, at.user = kept.Token, kept.TokenFile, kept.User
	}
	return c.trusting(at, kept)
}

// trusting adds what proves the identity of a server that is kept. Its fingerprint gives way to what was typed, and not
// to a certificate from the environment: with that, more servers would be trusted.
func (c *connection) trusting(at target, kept login) target {
	switch {
	case at.fingerprint != "" || at.ca != "" && c.onCommandLine["ca"]:
	case at.ca == "" || kept.Fingerprint != "":
		at.ca, at.fingerprint = kept.CA, kept.Fingerprint
	}
	return at
}

// dropEnvironment drops the token and the certificate that were not typed, if the context was typed: what is exported
// was meant for another server.
func (c *connection) dropEnvironment() {
	if !c.onCommandLine["context"] {
		return
	}
	if !c.onCommandLine["token"] && !c.onCommandLine["token-file"] {
		c.Token, c.TokenFile = "", ""
	}
	if !c.onCommandLine["ca"] {
		c.CA = ""
	}
}

// contextCandidates are the contexts as completion offers them.
func contextCandidates() (found []candidate) {
	all, err := readLogins()
	if err != nil {
		return nil
	}
	for _, name := range all.names() {
		found = append(found, candidate{name, all.Servers[name].Address})
	}
	return found
}

// configFile is where contexts are kept, for people.
func configFile() string {
	path, err := loginsFile()
	if err != nil {
		return "-"
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return path + " (not there yet)"
	}
	return path
}
