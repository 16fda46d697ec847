package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

type configCommand struct {
	connection
	output
	paging
	Name string `arg:"" optional:"" hidden:""`
}

// configValue is one value that is in force, and where it comes from. Tokens are never among them.
type configValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"` // flag, environment, context NAME or default
}

var configColumns = columns[configValue]{
	titles: []string{"NAME", "VALUE", "FROM"},
	name:   func(v configValue) string { return v.Name },
	row:    func(v configValue) []string { return []string{v.Name, v.Value, v.From} },
}

// Run shows what is in force. No server is asked.
func (c *configCommand) Run(env *environment) error {
	if c.Name != "" {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "`muster config` shows what commands use, and takes no name",
			Hint: "`muster device config " + quoted(c.Name) + "` shows the configuration of a daemon."}
	}
	all, err := readLogins()
	if err != nil {
		return err
	}
	at, err := c.target(all)
	if err != nil {
		return err
	}
	return printList(env, c.output, configColumns, c.values(all, at))
}

func (c *configCommand) values(all logins, at target) []configValue {
	_, isKept := all.Servers[at.name]
	from := "default"
	if isKept {
		from = "context " + at.name
	}
	values := []configValue{{"context", orNone(all, at), "default"}, {"server", at.address, from},
		c.tokenValue(at, from), {"fingerprint", "-", "default"}, {"ca", "-", "default"}, {"home", at.home, "default"},
		{"file of contexts", configFile(), "default"}}
	if isKept {
		values[0].From = "context use, or the last log-in"
	}
	if at.fingerprint != "" {
		values[3] = configValue{"fingerprint", at.fingerprint, from}
	}
	if at.ca != "" {
		values[4] = configValue{"ca", at.ca, from}
	}
	c.fromPerson(&values[0], "server", isKept && c.Server != "")
	c.fromPerson(&values[0], "context", at.context != "")
	c.fromPerson(&values[1], "server", c.Server != "" && at.context == "")
	c.fromPerson(&values[4], "ca", c.CA != "" && at.ca == c.CA)
	c.fromPerson(&values[5], "muster-home", c.MusterHome != "")
	return values
}

// orNone is the context that is in force.
func orNone(all logins, at target) string {
	if _, isKept := all.Servers[at.name]; isKept {
		return at.name
	}
	return "none"
}

// fromPerson notes that a value was given, by a flag or by a variable.
func (c *configCommand) fromPerson(v *configValue, flag string, given bool) {
	switch {
	case !given:
	case c.onCommandLine[flag]:
		v.From = "flag --" + flag
	default:
		v.From = "environment " + variableOf(flag)
	}
}

// variableOf is the variable of a flag.
func variableOf(flag string) string {
	name := strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	return "MUSTER_" + strings.TrimPrefix(name, "MUSTER_")
}

// tokenValue says where the token is, and never what it is.
func (c *configCommand) tokenValue(at target, from string) configValue {
	v := configValue{Name: "token", Value: "none", From: "default"}
	switch {
	case c.TokenFile != "":
		v.Value = "in " + c.TokenFile
		c.fromPerson(&v, "token-file", true)
	case c.Token != "" && !c.onCommandLine["token"] && os.Getenv(variableOf("token")) == "":
		v.Value, v.From = "given", "credential of systemd"
	case c.Token != "":
		v.Value = "given"
		c.fromPerson(&v, "token", true)
	case at.token != "":
		v.Value, v.From = fmt.Sprintf("session of %s", at.user), from
	case at.tokenFile != "":
		v.Value, v.From = "in "+at.tokenFile, from
	case c.MusterHome != "" && at.context == "" || at.onThisMachine():
		v.Value = "in " + filepath.Join(at.home, auth.AdminTokenFile)
		c.fromPerson(&v, "muster-home", c.MusterHome != "")
	}
	return v
}
