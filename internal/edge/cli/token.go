package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type tokenCommand struct {
	Create tokenCreateCommand     `cmd:"" help:"Make a token; its text is printed once, alone on the last line."`
	List   listCommand[api.Token] `cmd:"" help:"List tokens, without their texts."`
	Rotate tokenRotateCommand     `cmd:"" help:"Give a token another text, printed once, alone on the last line; the old one works until the overlap is over."`
	Delete tokenDeleteCommand     `cmd:"" help:"Withdraw a token at once."`
}

type tokenCreateCommand struct {
	connection
	output
	messaging
	Role     string   `help:"viewer: sees everything but keys; operator: also tags, applies, pauses; author: also writes templates; admin: everything." required:"" enum:"viewer,operator,author,admin" placeholder:"viewer|operator|author|admin"`
	Name     string   `help:"Who or what uses it." required:"" placeholder:"NAME"`
	Expires  lifetime `env:"-" help:"How long it is good for, for example 90d, 12h." placeholder:"TIME"`
	TagScope []string `env:"-" help:"A viewer or operator sees and touches only devices with this tag; may be given several times." sep:"none" placeholder:"TAG"`
}

func (c *tokenCreateCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	body := api.CreateToken{Name: &c.Name, Role: &c.Role, ExpiresInS: c.Expires.seconds()}
	if len(c.TagScope) > 0 {
		body.Tags = &c.TagScope
	}
	made, err := server.CreateTokenWith(ctx, body)
	if err != nil {
		return err
	}
	return printToken(env, c.output, made)
}

// printToken prints the text of a token alone on the last line.
func printToken(env *environment, how output, made api.NewToken) error {
	fmt.Fprintf(env.Err, "Token %q with role %s, for %s, expires %s; it is not shown again:\n", made.Name, made.Role,
		scopeText(made.Tags), orNever(made.ExpiresAt))
	if made.OldUntil != nil {
		fmt.Fprintf(env.Err, "The old text works until %v.\n", *made.OldUntil)
	}
	return how.done(env, made.Name, made, made.Secret)
}

func scopeText(tags []string) string {
	if len(tags) == 0 {
		return "the whole fleet"
	}
	return "devices tagged " + strings.Join(tags, ", ")
}

func orNever(at *api.Time) string {
	if at == nil {
		return "never"
	}
	return at.String()
}

// lifetime is a duration that may be given in days or weeks.
type lifetime time.Duration

const maxLifetime = 3650 * 24 * time.Hour

// UnmarshalText reads "90d", "2w" and everything that Go takes for a duration.
func (l *lifetime) UnmarshalText(text []byte) error {
	d, err := fleet.ParseDays(string(text))
	if err != nil || d < time.Second || d > maxLifetime {
		return fmt.Errorf("%q is no time: write 90d, 12h or 30m", text)
	}
	*l = lifetime(d)
	return nil
}

// seconds is nil if no lifetime was given.
func (l lifetime) seconds() *int64 {
	if l == 0 {
		return nil
	}
	return new(int64(time.Duration(l) / time.Second))
}

var tokenNoun = noun[api.Token]{
	all: unfiltered((*client.Client).Tokens),
	columns: columns[api.Token]{
		titles: []string{"NAME", "ROLE", "OWNER", "FOR", "CREATED", "EXPIRES", "LAST USED", "FROM"},
		name:   func(t api.Token) string { return t.Name },
		row: func(t api.Token) []string {
			role := t.Role
			if t.Altered {
				role = "refused: not written by Muster"
			}
			return []string{t.Name, role, cmp.Or(t.Owner, "-"), scopeText(t.Tags), t.CreatedAt.String(), orNever(t.ExpiresAt),
				orNever(t.LastUsedAt), cmp.Or(t.LastUsedFrom, "-")}
		}},
	about: func(t api.Token) string { return t.Role },
}

// tokenVerbs are the commands that are described by data alone.
var tokenVerbs = tokenCommand{List: listOf(tokenNoun)}

type tokenRotateCommand struct {
	connection
	output
	messaging
	Name    string   `arg:"" help:"Name of the token."`
	Overlap span     `env:"-" help:"How long the old text works too; 0 ends it at once." default:"24h"`
	Expires lifetime `env:"-" help:"How long the new text is good for, for example 90d. Without it as long as the old one was." placeholder:"TIME"`
}

func (c *tokenRotateCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	made, err := server.RotateToken(ctx, c.Name, api.RotateToken{
		OverlapS: new(int64(time.Duration(c.Overlap) / time.Second)), ExpiresInS: c.Expires.seconds(),
	})
	if err != nil {
		return err
	}
	return printToken(env, c.output, made)
}

type tokenDeleteCommand struct {
	removing
	Name string `arg:"" help:"Name of the token."`
}

// Run withdraws it.
func (c *tokenDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	found, err := tokenNoun.find(ctx, server, c.Name)
	if err != nil {
		return err
	}
	r := removal{name: c.Name, remove: server.DeleteToken, change: "deleted", done: "Deleted."}
	if found != nil {
		r.question = fmt.Sprintf("Withdraw the token %q, role %s, for %s? Last used: %s.", printable(found.Name),
			found.Role, printable(scopeText(found.Tags)), orNever(found.LastUsedAt))
	}
	return c.remove(ctx, env, r)
}
