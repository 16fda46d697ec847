package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type loginCommand struct {
	Server       string `help:"Address of the server, or the name of one that you logged in to before." placeholder:"URL|NAME"`
	Name         string `help:"What to call the server; without it, its host and port." placeholder:"NAME"`
	User         string `help:"Name of a user with a password. Without it you log in by single sign-on where the server has it: by a code, typed in any browser; else the name is asked for." placeholder:"NAME"`
	PasswordFile string `env:"-" help:"File with the password, - for standard input; asked for without it. There is no flag for the password itself: others would see it in the list of processes." placeholder:"FILE"`
	Fingerprint  string `help:"Fingerprint of the server's certificate, or of its public key, as the server prints it when it starts; no other is trusted then. It is kept with the log-in." placeholder:"sha256:HEX"`
	CA           string `name:"ca" help:"File with a certificate (PEM) to trust besides the system's; it is kept with the log-in." type:"path" placeholder:"FILE"`

	onCommandLine map[string]bool // names of the flags that were typed
}

// AfterApply is called by kong before Run.
func (c *loginCommand) AfterApply(parsed *kong.Context) error {
	c.onCommandLine = typedFlags(parsed)
	return nil
}

// Run starts a session and keeps its token. Without --user it logs in by single sign-on, if the server has that.
func (c *loginCommand) Run(ctx context.Context, env *environment) error {
	all, err := readLogins()
	if err != nil {
		return err
	}
	at, err := (&connection{Server: c.Server, CA: c.CA, fingerprint: c.Fingerprint,
		onCommandLine: c.onCommandLine}).target(all)
	if err != nil {
		return err
	}
	server, err := at.client("")
	if err != nil {
		return err
	}
	_, before := all.find(at.address)
	started, err := c.started(ctx, env, server, before)
	if err != nil {
		return err
	}
	name := c.Name
	if name == "" {
		name = at.name
	}
	if before.Token != "" { // the session of the earlier log-in is not used any more
		if old, err := at.client(before.Token); err == nil {
			_ = old.Logout(ctx)
		}
	}
	started.Address, started.CA, started.Fingerprint = at.address, at.ca, at.fingerprint
	started.TokenFile = all.Servers[name].TokenFile
	all.Current = name
	all.Servers[name] = started
	if err := all.write(); err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "Logged in to %s as %s, at the longest until %v. Commands use this server now.\n",
		printable(name), printable(started.User), api.Time{Time: started.ExpiresAt})
	return nil
}

// started begins a session, with or without a password.
func (c *loginCommand) started(ctx context.Context, env *environment, server *client.Client, before login) (login,
	error) {
	if c.User == "" && c.PasswordFile == "" {
		methods, err := server.LoginMethods(ctx)
		switch {
		case err != nil: // the log-in below fails with the reason
		case methods.SingleSignOn != nil && methods.SingleSignOn.Away:
			fmt.Fprintf(env.Err, "%s does not answer at this moment. With a password of Muster:\n",
				printable(methods.SingleSignOn.Name))
		case methods.SingleSignOn != nil && methods.SingleSignOn.Device:
			return byCode(ctx, env, server, methods.SingleSignOn.Name)
		case methods.SingleSignOn != nil:
			fmt.Fprintf(env.Err, "%s logs people in by browser only. With a password of Muster:\n",
				printable(methods.SingleSignOn.Name))
		}
	}
	return c.byPassword(ctx, env, server, before)
}

func (c *loginCommand) byPassword(ctx context.Context, env *environment, server *client.Client, before login) (_ login,
	err error) {
	if c.User == "" {
		if c.User, err = env.readLine("User name", before.User); err != nil {
			return login{}, err
		}
	}
	password, err := env.password("Password", c.PasswordFile)
	if err != nil {
		return login{}, err
	}
	session, device, err := server.Login(ctx, c.User, password, before.Device)
	if err != nil {
		return login{}, withHint(err)
	}
	return login{User: strings.ToLower(c.User), Token: session.Token, ExpiresAt: session.ExpiresAt.Time,
		Device: device}, nil
}

// withHint keeps the server's hint: the usual hint about a wrong token does not help with a wrong password.
func withHint(err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) {
		return err
	}
	return &fleet.Error{Code: fleet.CodeOf(err), Message: answer.Error(), Hint: answer.Problem.Hint}
}

type logoutCommand struct {
	Server string `help:"Name or address of the server; without it, the one that was logged in to last." placeholder:"URL|NAME"`
}

// Run ends the session and forgets its token, also where the server cannot be reached.
func (c *logoutCommand) Run(ctx context.Context, env *environment) error {
	all, err := readLogins()
	if err != nil {
		return err
	}
	if c.Server == "" {
		c.Server = all.Current
	}
	name, kept := all.find(c.Server)
	if name == "" || kept.Token == "" {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "you are not logged in",
			Hint: "`muster login --server URL` logs in."}
	}
	server, err := target{name: name, address: kept.Address, ca: kept.CA,
		fingerprint: kept.Fingerprint, home: defaultHome()}.client(kept.Token)
	if err != nil {
		return err
	}
	ended := server.Logout(ctx)
	kept.Token = ""
	all.Servers[name] = kept
	if all.Current == name {
		all.Current = ""
	}
	if err := all.write(); err != nil {
		return err
	}
	var answer *client.Error
	// With 401 the session had ended already.
	if ended != nil && !(errors.As(ended, &answer) && answer.Status == http.StatusUnauthorized) {
		fmt.Fprintf(env.Err, "Warning: the server was not told (%v): the session goes on there until %v.\n", ended,
			kept.ExpiresAt)
	}
	fmt.Fprintf(env.Out, "Logged out of %s.\n", printable(name))
	return nil
}

type whoamiCommand struct {
	connection
	output
}

// Run prints as whom the server knows the caller.
func (c *whoamiCommand) Run(ctx context.Context, env *environment) error {
	at, err := c.resolved()
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	who, err := server.Whoami(ctx)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, who, who.Name)
	}
	kind := "by a session"
	if who.ExpiresAt == nil {
		kind = "by a token"
	}
	fmt.Fprintf(env.Out, "%s, role %s, %s, at %s\n", printable(who.Name), who.Role, kind, at.address)
	if who.ExpiresAt != nil {
		fmt.Fprintf(env.Out, "The session ends at the latest at %v.\n", *who.ExpiresAt)
	}
	return nil
}

type loginLinkCommand struct {
	connection
	output
	linkLife
	messaging
	User string `arg:"" optional:"" help:"Name of the user whose password the link sets; without it, the link makes a new administrator."`
}

// Run prints a log-in link alone on the last line.
func (c *loginLinkCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	return printLoginLink(ctx, env, &c.connection, c.output, server, c.User, c.linkLife)
}

// linkLife is how long the link of a user can be used.
type linkLife struct {
	Expires lifetime `env:"-" help:"How long the link of a user can be used, at most 24h, and 15 minutes for an admin; without it 15 minutes." placeholder:"TIME"`
}

func printLoginLink(ctx context.Context, env *environment, c *connection, how output, server *client.Client,
	user string, life linkLife) error {
	at, err := c.resolved()
	if err != nil {
		return err
	}
	body := api.CreateLoginLink{ExpiresInS: life.Expires.seconds()}
	if user != "" {
		body.User = &user
	}
	link, err := server.CreateLoginLink(ctx, body)
	if err != nil {
		return err
	}
	does := "makes a new administrator"
	if user != "" {
		does = "sets the password of " + printable(link.User)
	}
	fmt.Fprintf(env.Err, "This link %s, once, until %v:\n", does, link.ExpiresAt)
	return how.done(env, link.User, link, at.address+link.Path)
}

// terminal is the file descriptor that a person types at; ok is false where no person does.
func (env *environment) terminal() (fd int, ok bool) {
	f, isFile := env.In.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// readLine reads a line from the terminal; an empty one is the suggestion.
func (env *environment) readLine(what, suggestion string) (string, error) {
	if _, ok := env.terminal(); !ok {
		if suggestion != "" {
			return suggestion, nil
		}
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "no user is named, and there is no terminal to ask at",
			Hint: "Add --user NAME."}
	}
	if suggestion != "" {
		what += " [" + suggestion + "]"
	}
	fmt.Fprintf(env.Err, "%s: ", what)
	line, err := bufio.NewReader(env.In).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		if suggestion == "" && err == nil {
			err = fleet.Invalidf("user", "no user is named")
		}
		line = suggestion
	}
	return line, err
}

// password reads one from a file, or from the terminal without showing it.
func (env *environment) password(what, file string) (string, error) {
	if file != "" {
		return secretFrom(env, file)
	}
	fd, ok := env.terminal()
	if !ok {
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "there is no terminal to type the password at",
			Hint: "Add --password-file FILE, or --password-file - and pipe it in."}
	}
	fmt.Fprintf(env.Err, "%s: ", what)
	text, err := term.ReadPassword(fd)
	fmt.Fprintln(env.Err)
	return string(text), err
}

// newPassword asks for a password twice.
func (env *environment) newPassword(file string) (string, error) {
	first, err := env.password("New password, at least 12 characters", file)
	if err != nil || file != "" {
		return first, err
	}
	second, err := env.password("The same again", "")
	if err == nil && first != second {
		err = &fleet.Error{Code: fleet.CodeInvalid, Message: "the two passwords are not the same",
			Hint: "Nothing was changed. Type the command again."}
	}
	return first, err
}
